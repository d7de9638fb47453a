"""PyTorch's calls, for comparison only: nothing here is installed with warpgrade. Where it is missing, `bench` leaves
these out.

Arrays are shared, not copied; the work goes to the stream that CuPy uses at the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def add(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.add(a, b, out=c)``."""
    import torch

    a, b, c = _tensors(arrays, "a", "b", "c")
    return _queued(lambda: torch.add(a, b, out=c))


def add_relu(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.add(a, b, out=c).relu_()``: two kernels, as eager PyTorch runs it."""
    import torch

    a, b, c = _tensors(arrays, "a", "b", "c")
    return _queued(lambda: torch.add(a, b, out=c).relu_())


def saxpy(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.add(y, x, alpha=alpha, out=out)``."""
    import torch

    x, y, out = _tensors(arrays, "x", "y", "out")
    alpha = float(numbers["alpha"])
    return _queued(lambda: torch.add(y, x, alpha=alpha, out=out))


def sum(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.sum(x)``, into ``out``."""
    import torch

    x, out = _tensors(arrays, "x", "out")
    return _queued(lambda: torch.sum(x, dim=0, keepdim=True, out=out))


def dot(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.dot`` of halves: cuBLAS, which gives a half."""
    import torch

    x, y = _tensors(arrays, "x", "y")
    return _queued(lambda: torch.dot(x, y))


def dot_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``(x.float() * y.float()).sum()`` by ``torch.compile``."""
    x, y = _tensors(arrays, "x", "y")
    return _compiled(lambda x, y: (x.float() * y.float()).sum(), x, y)


def argmax(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.argmax(x)``."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _queued(lambda: torch.argmax(x))


def argmax_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _compiled(lambda x: torch.argmax(x), x)


def scan(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.cumsum(x)``, into ``out``."""
    import torch

    x, out = _tensors(arrays, "x", "out")
    return _queued(lambda: torch.cumsum(x, dim=0, out=out))


def scan_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``; it allocates its result."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _compiled(lambda x: torch.cumsum(x, dim=0), x)


def positive(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.masked_select(x, x > 0)``; it waits for the count, and allocates its results."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _queued(lambda: torch.masked_select(x, x > 0))


def positive_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _compiled(lambda x: torch.masked_select(x, x > 0), x)


def transpose(arrays: Arrays, numbers: Numbers) -> Run:
    """``out.copy_(x.T)``."""
    x, out = _tensors(arrays, "x", "out")
    rows, cols = int(numbers["rows"]), int(numbers["cols"])
    source, target = x.view(rows, cols).T, out.view(cols, rows)
    return _queued(lambda: target.copy_(source))


def softmax(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.softmax`` over the rows; it allocates its result."""
    import torch

    (x,) = _tensors(arrays, "x")
    rows = x.view(int(numbers["rows"]), int(numbers["cols"]))
    return _queued(lambda: torch.softmax(rows, dim=1))


def softmax_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _compiled(lambda rows: torch.softmax(rows, dim=1), x.view(int(numbers["rows"]), int(numbers["cols"])))


def swiglu(arrays: Arrays, numbers: Numbers) -> Run:
    """``silu(gate) * up``: two kernels, as eager PyTorch runs it; it allocates its result."""
    return _swiglu(arrays, _eager)


def swiglu_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`swiglu` by ``torch.compile``: one kernel."""
    return _swiglu(arrays, _compiled)


def _swiglu(arrays: Arrays, timed: Callable[..., Run]) -> Run:
    import torch

    gate, up = _tensors(arrays, "gate", "up")
    return timed(lambda gate, up: torch.nn.functional.silu(gate) * up, gate, up)


def stars(arrays: Arrays, numbers: Numbers) -> Run:
    """``1 - exp(-sum)`` of a table of all rows, columns and stars, which each operation writes and reads."""
    return _stars(arrays, numbers, _eager)


def stars_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`stars` by ``torch.compile``."""
    return _stars(arrays, numbers, _compiled)


def _stars(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    x, y, light = _tensors(arrays, "x", "y", "light")
    pitch, sharp = float(numbers["pitch"]), float(numbers["sharp"])
    across = pitch * torch.arange(int(numbers["cols"]), device=x.device, dtype=x.dtype)[:, None]
    down = pitch * torch.arange(int(numbers["rows"]), device=x.device, dtype=x.dtype)[:, None, None]

    def result(x: Any, y: Any, light: Any, across: Any, down: Any) -> Any:
        table = light / (1 + sharp * ((across - x).square() + (down - y).square()))
        return 1 - torch.exp(-table.sum(dim=-1))

    return timed(result, x, y, light, across, down)


def rope(arrays: Arrays, numbers: Numbers) -> Run:
    """``x * cos + rotate_half(x) * sin``, with tables of cos and sin that are made before; it allocates its result."""
    return _rope(arrays, numbers, _eager)


def rope_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`rope` by ``torch.compile``: one kernel; the tables are made before."""
    return _rope(arrays, numbers, _compiled)


def _rope(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    x, positions = _tensors(arrays, "x", "positions")
    tokens, dim = int(numbers["tokens"]), int(numbers["dim"])
    rows = x.view(tokens, -1, dim)
    powers = -torch.arange(0, dim, 2, dtype=torch.float64, device=x.device) / dim
    angles = positions.double()[:, None] * float(numbers["base"]) ** powers
    angles = torch.cat((angles, angles), dim=1)[:, None, :]
    cos, sin = angles.cos().float(), angles.sin().float()

    def rotated(rows: Any, cos: Any, sin: Any) -> Any:
        left, right = rows.chunk(2, dim=-1)
        return rows * cos + torch.cat((-right, left), dim=-1) * sin

    return timed(rotated, rows, cos, sin)


def gelu_bias_dropout(arrays: Arrays, numbers: Numbers) -> Run:
    """``dropout(gelu(x + bias))``: three kernels, with random bits of PyTorch's own; it allocates its results."""
    return _gelu_bias_dropout(arrays, numbers, _eager)


def gelu_bias_dropout_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`gelu_bias_dropout` by ``torch.compile``: one kernel."""
    return _gelu_bias_dropout(arrays, numbers, _compiled)


def _gelu_bias_dropout(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    x, bias = _tensors(arrays, "x", "bias")
    rows, p = x.view(-1, int(numbers["cols"])), float(numbers["p"])
    functional = torch.nn.functional

    def result(rows: Any, bias: Any) -> Any:
        return functional.dropout(functional.gelu(rows + bias, approximate="tanh"), p, training=True)

    return timed(result, rows, bias)


def cross_entropy(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.cross_entropy(reduction="none")``; it allocates its result."""
    return _cross_entropy(arrays, numbers, _eager)


def cross_entropy_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`cross_entropy` by ``torch.compile``."""
    return _cross_entropy(arrays, numbers, _compiled)


def _cross_entropy(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    logits, labels = _tensors(arrays, "logits", "labels")
    rows, wanted = logits.view(-1, int(numbers["cols"])), labels.long()
    return timed(lambda x, at: torch.nn.functional.cross_entropy(x, at, reduction="none"), rows, wanted)


def linear_attention(arrays: Arrays, numbers: Numbers) -> Run:
    """Causal attention without a softmax, in chunks of 64: batched products, and a cumulative sum of the states."""
    tensors = _chunks_of_64(arrays, numbers)
    return _queued(lambda: _linear_attention(*tensors))


def linear_attention_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    return _compiled(_linear_attention, *_chunks_of_64(arrays, numbers))


def _chunks_of_64(arrays: Arrays, numbers: Numbers) -> list[Any]:
    shape = int(numbers["heads"]), -1, 64, 64
    return [tensor.view(shape) for tensor in _tensors(arrays, "Q", "K", "V")]


def _linear_attention(q: Any, k: Any, v: Any) -> Any:
    import torch

    states = k.transpose(2, 3) @ v
    before = (torch.cumsum(states, dim=1, dtype=torch.float32) - states).to(q.dtype)
    return torch.tril(q @ k.transpose(2, 3)) @ v + q @ before


def softmax_topk(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.softmax``, ``torch.topk`` and a division, as routers are written."""
    (logits,) = _tensors(arrays, "logits")
    return _queued(lambda: _topk(logits.view(-1, 64)))


def softmax_topk_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    (logits,) = _tensors(arrays, "logits")
    return _compiled(_topk, logits.view(-1, 64))


def _topk(logits: Any) -> Any:
    import torch

    weights, experts = torch.topk(torch.softmax(logits, dim=1), 8, dim=1)
    return weights / weights.sum(dim=1, keepdim=True), experts


def histogram(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.histc`` of the integers in 256 bins; it allocates its result."""
    return _histogram(arrays, _eager)


def histogram_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`histogram` by ``torch.compile``, which calls the same kernel."""
    return _histogram(arrays, _compiled)


def _histogram(arrays: Arrays, timed: Callable[..., Run]) -> Run:
    import torch

    (x,) = _tensors(arrays, "x")
    return timed(lambda x: torch.histc(x, bins=256, min=0, max=256), x)


def histogram_bincount(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.bincount``, which waits for the largest key before it counts."""
    import torch

    (x,) = _tensors(arrays, "x")
    return _queued(lambda: torch.bincount(x, minlength=256))


def digit_pass(arrays: Arrays, numbers: Numbers) -> Run:
    """A stable ``torch.sort`` of the digits gives an order, and two copies follow it."""
    return _digit_pass(arrays, numbers, _eager)


def digit_pass_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`digit_pass` by ``torch.compile``."""
    return _digit_pass(arrays, numbers, _compiled)


def _digit_pass(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    keys, values = _tensors(arrays, "keys", "values")
    shift = int(numbers["shift"])

    def moved(keys: Any, values: Any) -> Any:
        order = torch.sort((keys >> shift & 15).to(torch.uint8), stable=True).indices
        return keys[order], values[order]

    return timed(moved, keys.view(torch.int32), values)


def index_add(arrays: Arrays, numbers: Numbers) -> Run:
    """``index_add_`` on zeros: an atomic for each float."""
    return _index_add(arrays, numbers, _eager)


def index_add_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`index_add` by ``torch.compile``."""
    return _index_add(arrays, numbers, _compiled)


def _index_add(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    x, index = _tensors(arrays, "x", "index")
    rows = int(numbers["rows"])
    return timed(lambda x, index: x.new_zeros(rows, 64).index_add_(0, index, x), x.view(-1, 64), index)


def topk(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.topk`` of each row; it allocates its results."""
    return _largest(arrays, numbers, _eager)


def topk_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`topk` by ``torch.compile``, which calls the same kernels."""
    return _largest(arrays, numbers, _compiled)


def _largest(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    (x,) = _tensors(arrays, "x")
    return timed(lambda x: torch.topk(x, 8, dim=1), x.view(-1, int(numbers["cols"])))


def spmv_csr(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.sparse_csr_tensor`` times a vector; it allocates its result."""
    import torch

    offsets, columns, values, x = _tensors(arrays, "offsets", "columns", "values", "x")
    shape = int(numbers["rows"]), int(numbers["cols"])
    matrix = torch.sparse_csr_tensor(offsets, columns, values, size=shape)
    return _queued(lambda: matrix @ x)


def spmv_csr_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """Products, and ``index_add`` by a row number of each, made before, by ``torch.compile``."""
    import torch

    offsets, columns, values, x = _tensors(arrays, "offsets", "columns", "values", "x")
    count = int(numbers["rows"])
    rows = torch.repeat_interleave(torch.arange(count, device=x.device, dtype=torch.int32), offsets.diff().long())

    def product(columns: Any, values: Any, rows: Any, x: Any) -> Any:
        return x.new_zeros(count).index_add(0, rows, values * x[columns])

    return _compiled(product, columns, values, rows, x)


def segmented_sum(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.segment_reduce``; it allocates its result."""
    import torch

    x, offsets = _tensors(arrays, "x", "offsets")
    return _queued(lambda: torch.segment_reduce(x, "sum", offsets=offsets, unsafe=True, initial=0))


def segmented_sum_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``index_add`` by a segment number of each element, made before, by ``torch.compile``."""
    import torch

    x, offsets = _tensors(arrays, "x", "offsets")
    count = int(numbers["segments"])
    segments = torch.repeat_interleave(torch.arange(count, device=x.device, dtype=torch.int32), offsets.diff().long())
    return _compiled(lambda x, segments: x.new_zeros(count).index_add(0, segments, x), x, segments)


def segmented_sum_cumsum(arrays: Arrays, numbers: Numbers) -> Run:
    """Differences of ``torch.cumsum`` at the offsets, in float64: float32 loses the digits of short segments."""
    import torch

    x, offsets = _tensors(arrays, "x", "offsets")

    def differences() -> Any:
        sums = torch.cumsum(x, 0, dtype=torch.float64)
        ends = torch.where(offsets > 0, sums[offsets - 1], 0.0)
        return ends.diff().float()

    return _queued(differences)


def w4a16_gemv(arrays: Arrays, numbers: Numbers) -> Run:
    """PyTorch's product with 4-bit weights (tinygemm): x in bfloat16, weights in its own order, packed before."""
    import torch

    words, scales, zeros, x = _tensors(arrays, "W", "scales", "zeros", "x")
    m, k = (int(numbers[name]) for name in ("m", "k"))
    bits = _unpacked(words.view(torch.int32)).view(m, k).to(torch.uint8)
    packed = torch.ops.aten._convert_weight_to_int4pack(bits[:, ::2] << 4 | bits[:, 1::2], 8)
    scale = scales.view(m, k // 128).float()
    shift = (8 - zeros.view(m, k // 128).float()) * scale  # its weights are (q - 8) · scale + shift
    groups = torch.stack([scale, shift], dim=2).transpose(0, 1).contiguous().bfloat16()
    row = x.bfloat16().view(1, k)
    return _queued(lambda: torch.ops.aten._weight_int4pack_mm(row, packed, 128, groups))


def w4a16_gemv_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """Unpacking and product written with tensors, by ``torch.compile``."""
    import torch

    words, scales, zeros, x = _tensors(arrays, "W", "scales", "zeros", "x")
    m, k = (int(numbers[name]) for name in ("m", "k"))

    def product(words: Any, scales: Any, zeros: Any, x: Any) -> Any:
        bits = _unpacked(words).view(m, k // 128, 128)
        weights = (bits.half() - zeros.half()) * scales
        return (weights.view(m, k).float() * x.float()).sum(dim=1)

    shape = (m, k // 128, 1)
    return _compiled(product, words.view(torch.int32), scales.view(shape), zeros.view(shape), x)


def _unpacked(words: Any) -> Any:
    """Eight weights of each word, in a row's order."""
    import torch

    places = torch.arange(8, device=words.device, dtype=torch.int32)
    return words[:, None] >> (places % 2 * 16 + places // 2 * 4) & 15


def keys_int8(arrays: Arrays, numbers: Numbers) -> Run:
    """The largest value of each channel and tile, a product, a rounding: a kernel for each."""
    (keys,) = _tensors(arrays, "K")
    return _queued(lambda: _quantised(keys.view(-1, 64, 128)))


def keys_int8_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    (keys,) = _tensors(arrays, "K")
    return _compiled(_quantised, keys.view(-1, 64, 128))


def _quantised(tiles: Any) -> Any:
    import torch

    largest = tiles.abs().amax(dim=1, keepdim=True).float()
    steps = torch.round(tiles.float() * (127 / largest.clamp(min=1e-30)))
    return steps.to(torch.int8), largest / 127


def layer_norm(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.layer_norm`` over the rows; it allocates its result."""
    function, tensors = _layer_norm(arrays, numbers)
    return _queued(lambda: function(*tensors))


def layer_norm_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    function, tensors = _layer_norm(arrays, numbers)
    return _compiled(function, *tensors)


def _layer_norm(arrays: Arrays, numbers: Numbers) -> tuple[Callable[..., Any], list[Any]]:
    from torch.nn.functional import layer_norm

    x, gamma, beta = _tensors(arrays, "x", "gamma", "beta")
    cols, eps = int(numbers["cols"]), float(numbers["eps"])
    return lambda x, gamma, beta: layer_norm(x, (cols,), gamma, beta, eps), [x.view(-1, cols), gamma, beta]


def rms_norm(arrays: Arrays, numbers: Numbers) -> Run:
    """``h = x + residual`` and ``torch.nn.functional.rms_norm`` of it: two kernels at least."""
    function, tensors = _rms_norm(arrays, numbers)
    return _queued(lambda: function(*tensors))


def rms_norm_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``, which fuses the two."""
    function, tensors = _rms_norm(arrays, numbers)
    return _compiled(function, *tensors)


def _rms_norm(arrays: Arrays, numbers: Numbers) -> tuple[Callable[..., Any], list[Any]]:
    from torch.nn.functional import rms_norm

    x, residual, weight = _tensors(arrays, "x", "residual", "weight")
    cols, eps = int(numbers["cols"]), float(numbers["eps"])

    def both(x: Any, residual: Any, weight: Any) -> Any:
        h = x + residual
        return h, rms_norm(h, (cols,), weight, eps)

    return both, [x.view(-1, cols), residual.view(-1, cols), weight]


def adamw(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.optim.AdamW``, the default: several kernels, each for lists of tensors. It steps on copies, in place."""
    return _adamw_step(arrays, numbers)


def adamw_fused(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.optim.AdamW`` with ``fused=True``: one kernel. It steps on copies, in place."""
    return _adamw_step(arrays, numbers, fused=True)


def adamw_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The formula, into new tensors, by ``torch.compile``."""
    names = ("lr", "decay", "beta1", "beta2", "eps", "correction1", "correction2")
    lr, decay, beta1, beta2, eps, correction1, correction2 = (float(numbers[name]) for name in names)

    def step(p: Any, g: Any, m: Any, v: Any) -> Any:
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        return p - lr * (decay * p + m / correction1 / ((v / correction2).sqrt() + eps)), m, v

    return _compiled(step, *_tensors(arrays, "p", "g", "m", "v"))


def _adamw_step(arrays: Arrays, numbers: Numbers, **how: bool) -> Run:
    import torch

    p, g, m, v = (tensor.clone() for tensor in _tensors(arrays, "p", "g", "m", "v"))
    parameter = torch.nn.Parameter(p)
    parameter.grad = g
    lr, eps, decay = (float(numbers[name]) for name in ("lr", "eps", "decay"))
    betas = float(numbers["beta1"]), float(numbers["beta2"])
    optimizer = torch.optim.AdamW([parameter], lr=lr, betas=betas, eps=eps, weight_decay=decay, **how)
    steps = torch.tensor(9.0, device=p.device if how else "cpu")
    optimizer.state[parameter] = {"step": steps, "exp_avg": m, "exp_avg_sq": v}
    return _queued(optimizer.step)


def grad_norm_clip(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.utils.clip_grad_norm_`` with ``foreach=True``: several kernels. It scales a copy, in place."""
    import torch

    (g,) = _tensors(arrays, "g")
    parameter = torch.nn.Parameter(g)
    parameter.grad = g.clone()
    limit = float(numbers["max_norm"])
    return _queued(lambda: torch.nn.utils.clip_grad_norm_([parameter], limit, foreach=True))


def grad_norm_clip_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The formula, into new tensors, by ``torch.compile``."""
    import torch

    limit = float(numbers["max_norm"])

    def clip(g: Any) -> Any:
        norm = torch.linalg.vector_norm(g)
        return (limit / (norm + 1e-6)).clamp(max=1.0) * g, norm

    return _compiled(clip, *_tensors(arrays, "g"))


def relu_backward(arrays: Arrays, numbers: Numbers) -> Run:
    """PyTorch's kernel for the backward pass of ReLU: it reads the forward pass's result, four bytes an element."""
    import torch

    (dy,) = _tensors(arrays, "dy")
    y = _kept(arrays).to(torch.float32)
    return _eager(lambda dy, y: torch.ops.aten.threshold_backward(dy, y, 0), dy, y)


def relu_backward_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.where(kept, dy, 0)`` by ``torch.compile``, with a byte an element."""
    import torch

    (dy,) = _tensors(arrays, "dy")
    return _compiled(lambda dy, kept: torch.where(kept, dy, 0.0), dy, _kept(arrays))


def _kept(arrays: Arrays) -> Any:
    """The bits of ``mask``, a bool for each."""
    import cupy
    import torch

    return torch.from_dlpack(cupy.unpackbits(arrays["mask"].view(cupy.uint8), bitorder="little")).bool()


def softmax_backward(arrays: Arrays, numbers: Numbers) -> Run:
    """PyTorch's kernel for the backward pass of softmax."""
    import torch

    y, dy, cols = *_tensors(arrays, "y", "dy"), int(numbers["cols"])
    return _eager(
        lambda y, dy: torch.ops.aten._softmax_backward_data(dy, y, 1, torch.float32),
        y.view(-1, cols),
        dy.view(-1, cols),
    )


def softmax_backward_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``y * (dy - (y * dy).sum(1, keepdim=True))`` by ``torch.compile``."""
    y, dy, cols = *_tensors(arrays, "y", "dy"), int(numbers["cols"])
    return _compiled(lambda y, dy: y * (dy - (y * dy).sum(1, keepdim=True)), y.view(-1, cols), dy.view(-1, cols))


def layer_norm_backward(arrays: Arrays, numbers: Numbers) -> Run:
    """PyTorch's operator for the backward pass of layer norm, with all three gradients."""
    import torch

    x, dy, gamma, mean, rstd = _layer_norm_backward(arrays, numbers)
    cols = int(numbers["cols"])
    # It asks for beta only to see its type.
    return _eager(
        lambda *operands: torch.ops.aten.native_layer_norm_backward(*operands, gamma, gamma, [True, True, True]),
        dy,
        x,
        (cols,),
        mean,
        rstd,
    )


def layer_norm_backward_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The formulas by ``torch.compile``: means along rows, sums down columns."""

    def gradients(x: Any, dy: Any, gamma: Any, mean: Any, rstd: Any) -> tuple[Any, Any, Any]:
        n, g = (x - mean) * rstd, dy * gamma
        dx = rstd * (g - g.mean(1, keepdim=True) - n * (g * n).mean(1, keepdim=True))
        return dx, (dy * n).sum(0), dy.sum(0)

    return _compiled(gradients, *_layer_norm_backward(arrays, numbers))


def _layer_norm_backward(arrays: Arrays, numbers: Numbers) -> list[Any]:
    x, dy, gamma, mean, rstd = _tensors(arrays, "x", "dy", "gamma", "mean", "rstd")
    cols = int(numbers["cols"])
    return [x.view(-1, cols), dy.view(-1, cols), gamma, mean.view(-1, 1), rstd.view(-1, 1)]


def group_norm_nhwc(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.group_norm`` of a tensor with channels last."""
    function, tensors = _group_norm_nhwc(arrays, numbers)
    return _queued(lambda: function(*tensors))


def group_norm_nhwc_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``."""
    function, tensors = _group_norm_nhwc(arrays, numbers)
    return _compiled(function, *tensors)


def _group_norm_nhwc(arrays: Arrays, numbers: Numbers) -> tuple[Callable[..., Any], list[Any]]:
    from torch.nn.functional import group_norm

    x, gamma, beta = _tensors(arrays, "x", "gamma", "beta")
    samples, pixels, groups, width = (int(numbers[name]) for name in ("samples", "pixels", "groups", "width"))
    eps = float(numbers["eps"])
    # (samples, channels, pixels, 1) with strides that have the channels last: no copy.
    x = x.view(samples, pixels, 1, groups * width).permute(0, 3, 1, 2)
    return lambda x, gamma, beta: group_norm(x, groups, gamma, beta, eps), [x, gamma, beta]


def calibrate(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.add(offset, x, alpha=gain, out=out)``: one kernel, with ``offset`` spread over all elements."""
    import torch

    x, out = _tensors(arrays, "x", "out")
    offset, gain = x.new_full((1,), numbers["offset"]), float(numbers["gain"])
    return _queued(lambda: torch.add(offset, x, alpha=gain, out=out))


def remove_drift(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.sub(x, ramp, out=out)``, with one row of ``slope * column`` for all rows, made before."""
    import torch

    x, out = (array.view(int(numbers["rows"]), int(numbers["cols"])) for array in _tensors(arrays, "x", "out"))
    ramp = torch.arange(x.shape[1], dtype=x.dtype, device=x.device) * float(numbers["slope"])
    return _queued(lambda: torch.sub(x, ramp, out=out))


def split_fields(arrays: Arrays, numbers: Numbers) -> Run:
    """``planes.copy_(particles.T)``."""
    particles, planes = _tensors(arrays, "particles", "planes")
    source, target = particles.view(-1, 4).T, planes.view(4, -1)
    return _queued(lambda: target.copy_(source))


def decode(arrays: Arrays, numbers: Numbers) -> Run:
    """``scaled_dot_product_attention`` of one query for each sequence, over all tokens, with the backend it chooses."""
    return _decode(arrays, numbers, "")


def decode_flash(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by its backend ``FLASH_ATTENTION``."""
    return _decode(arrays, numbers, "FLASH_ATTENTION")


def decode_cudnn(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by its backend ``CUDNN_ATTENTION``."""
    return _decode(arrays, numbers, "CUDNN_ATTENTION")


def decode_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``decode`` by ``torch.compile``."""
    import torch

    attention = torch.nn.functional.scaled_dot_product_attention
    return _compiled(lambda q, k, v: attention(q, k, v, enable_gqa=True), *_one_query(arrays, numbers))


def decode_pages(arrays: Arrays, numbers: Numbers) -> Run:
    """All pages copied to one place by ``k[table]``, then ``scaled_dot_product_attention``."""
    attend, operands = _pages(arrays, numbers)
    return _queued(lambda: attend(*operands))


def decode_pages_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``decode_pages`` by ``torch.compile``."""
    attend, operands = _pages(arrays, numbers)
    return _compiled(attend, *operands)


def _pages(arrays: Arrays, numbers: Numbers) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import torch

    seqs, kv_heads = int(numbers["seqs"]), int(numbers["kv_heads"])
    q, k, v, table = _tensors(arrays, "q", "k", "v", "table")
    pools = (cache.view(-1, kv_heads, 16, 128) for cache in (k, v))

    def attend(q: Any, k: Any, v: Any, table: Any) -> Any:
        caches = (pool[table].transpose(1, 2).reshape(seqs, kv_heads, -1, 128) for pool in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, *caches, enable_gqa=True)

    return attend, (q.view(seqs, -1, 1, 128), *pools, table.view(seqs, -1))


def _decode(arrays: Arrays, numbers: Numbers, backend: str) -> Run:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = _one_query(arrays, numbers)
    gqa = q.shape[1] > k.shape[1]

    def attend() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=gqa)

    def by_name() -> Any:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return attend()

    return _queued(by_name if backend else attend)


def _one_query(arrays: Arrays, numbers: Numbers) -> tuple[Any, Any, Any]:
    """q, (seqs, heads, 1, 128), and the caches, (seqs, kv_heads, tokens, 128)."""
    seqs, kv_heads = int(numbers["seqs"]), int(numbers["kv_heads"])
    q, k, v = _tensors(arrays, "q", "k", "v")
    return q.view(seqs, -1, 1, 128), k.view(seqs, kv_heads, -1, 128), v.view(seqs, kv_heads, -1, 128)


def attention_flash(arrays: Arrays, numbers: Numbers) -> Run:
    """``scaled_dot_product_attention`` by FlashAttention-2, whose kernel uses ``mma.sync``; it allocates its result."""
    return _attention(arrays, numbers, "FLASH_ATTENTION")


def attention_cudnn(arrays: Arrays, numbers: Numbers) -> Run:
    """``scaled_dot_product_attention`` by cuDNN, whose kernel uses ``wgmma`` on Hopper; it allocates its result."""
    return _attention(arrays, numbers, "CUDNN_ATTENTION")


def attention_efficient(arrays: Arrays, numbers: Numbers) -> Run:
    """``scaled_dot_product_attention`` by the memory-efficient kernel, for fp32 as well; it allocates its result."""
    return _attention(arrays, numbers, "EFFICIENT_ATTENTION")


def _attention(arrays: Arrays, numbers: Numbers, backend: str) -> Run:
    """Attention by one backend. PyTorch's mask is aligned at the top left: comparable where n_q = n_k."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = _heads(arrays, numbers)
    causal = bool(numbers["causal"])

    def run() -> Any:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return _queued(run)


def attention_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``softmax(q @ k.T / sqrt(d)) @ v`` by ``torch.compile``; scores go through memory. It allocates its result."""
    import torch

    q, k, v = _heads(arrays, numbers)
    n_q, n_k = q.shape[-2], k.shape[-2]
    hidden = torch.ones(n_q, n_k, dtype=torch.bool, device=q.device).triu(n_k - n_q + 1) if numbers["causal"] else None

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v

    return _compiled(attend, q, k, v)


def _heads(arrays: Arrays, numbers: Numbers) -> list[Any]:
    """Q, K and V of shape (1, heads, n, d)."""
    shape = 1, int(numbers["heads"]), -1, int(numbers["d"])
    return [tensor.view(shape) for tensor in _tensors(arrays, "Q", "K", "V")]


def weighted_line(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.conv1d`` of one channel; it allocates its result."""
    import torch

    x, weights = _tensors(arrays, "x", "weights")
    line, window = x.view(1, 1, -1), weights.view(1, 1, -1)
    return _eager(lambda x, weights: torch.nn.functional.conv1d(x, weights, padding=8), line, window)


def weighted_line_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`weighted_line` as a sum of shifted slices, by ``torch.compile``: one kernel."""
    import torch

    x, weights = _tensors(arrays, "x", "weights")

    def weighted(x: Any, weights: Any) -> Any:
        around = torch.nn.functional.pad(x, (8, 8))
        result = around[: len(x)] * weights[0]
        for k in range(1, 17):
            result = result + around[k : k + len(x)] * weights[k]
        return result

    return _compiled(weighted, x, weights)


def weighted_image(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.conv2d`` of one channel; it allocates its result."""
    return _weighted_image(arrays, numbers, _eager)


def weighted_image_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`weighted_image` by ``torch.compile``."""
    return _weighted_image(arrays, numbers, _compiled)


def _weighted_image(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    image, mask = _tensors(arrays, "image", "mask")
    operands = image.view(1, 1, int(numbers["rows"]), int(numbers["cols"])), mask.view(1, 1, 7, 7)
    return timed(lambda image, mask: torch.nn.functional.conv2d(image, mask, padding=3), *operands)


def gray(arrays: Arrays, numbers: Numbers) -> Run:
    """The weighted sum of three strided planes of bytes, in float: a kernel for each operation."""
    return _gray(arrays, numbers, _eager)


def gray_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """The same by ``torch.compile``: one kernel."""
    return _gray(arrays, numbers, _compiled)


def _gray(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    width, height, pad = (int(numbers[name]) for name in ("width", "height", "pad"))
    rgba, out = _tensors(arrays, "rgba", "gray")
    pixels = rgba.as_strided((height, width, 4), (4 * width + pad, 4, 1))

    def weighted(p: Any, out: Any) -> Any:
        red, green, blue = (p[:, :, k].float() for k in range(3))
        return out.copy_((77 * red + 150 * green + 29 * blue) / 256)

    return timed(weighted, pixels, out.view(height, width))


def upsample_nearest_2d(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.interpolate`` and the operator that is its backward pass; both allocate their results."""
    import torch

    x, dy = _planes(arrays, numbers)
    size, back = list(dy.shape[2:]), list(x.shape)

    def both(x: Any, dy: Any) -> Any:
        y = torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")
        return y, torch.ops.aten.upsample_nearest2d_backward(dy, size, back)

    return _eager(both, x, dy)


def upsample_nearest_2d_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``interpolate``, and the backward pass written as a sum over two axes, by ``torch.compile``."""
    import torch

    x, dy = _planes(arrays, numbers)

    def both(x: Any, dy: Any) -> Any:
        _, planes, h, w = x.shape
        y = torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")
        return y, dy.view(planes, h, 2, w, 2).sum(dim=(2, 4))

    return _compiled(both, x, dy)


def _planes(arrays: Arrays, numbers: Numbers) -> tuple[Any, Any]:
    """x of shape (1, planes, h, w), and dy of twice its height and width."""
    x, dy = _tensors(arrays, "x", "dy")
    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    return x.view(1, planes, h, w), dy.view(1, planes, 2 * h, 2 * w)


def max_pool(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.max_pool2d`` by 2; it allocates its result."""
    return _max_pool(arrays, numbers, _eager)


def max_pool_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`max_pool` by ``torch.compile``."""
    return _max_pool(arrays, numbers, _compiled)


def _max_pool(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    (x,) = _tensors(arrays, "x")
    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    return timed(lambda x: torch.nn.functional.max_pool2d(x, 2), x.view(1, planes, h, w))


def im2col(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.nn.functional.unfold`` of 3 x 3 patches; it allocates its result."""
    return _im2col(arrays, numbers, _eager)


def im2col_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """`im2col` by ``torch.compile``."""
    return _im2col(arrays, numbers, _compiled)


def _im2col(arrays: Arrays, numbers: Numbers, timed: Callable[..., Run]) -> Run:
    import torch

    (x,) = _tensors(arrays, "x")
    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    return timed(lambda x: torch.nn.functional.unfold(x, 3, padding=1), x.view(32, planes // 32, h, w))


def strided_broadcast(arrays: Arrays, numbers: Numbers) -> Run:
    """``torch.add`` of two strided views, into ``out``."""
    import torch

    return _eager(lambda a, b, out: torch.add(a, b, out=out), *_strided(arrays, numbers))


def strided_broadcast_compiled(arrays: Arrays, numbers: Numbers) -> Run:
    """``out.copy_(a + b)`` of the same views by ``torch.compile``."""
    return _compiled(lambda a, b, out: out.copy_(a + b), *_strided(arrays, numbers))


def _strided(arrays: Arrays, numbers: Numbers) -> list[Any]:
    """Views of a and b with their strides, and out, all of shape n0 x n1 x n2 x n3."""
    a, b, out = _tensors(arrays, "a", "b", "out")
    shape = [int(numbers[f"n{axis}"]) for axis in range(4)]
    views = [
        x.as_strided(shape, [int(numbers[f"{name}{axis}"]) for axis in range(4)]) for name, x in (("a", a), ("b", b))
    ]
    return [*views, out.view(shape)]


def _tensors(arrays: Arrays, *names: str) -> list[Any]:
    import torch

    return [torch.from_dlpack(arrays[name]) for name in names]


def _eager(function: Callable[..., Any], *tensors: Any) -> Run:
    """``function`` of tensors, kernel after kernel."""
    return _queued(lambda: function(*tensors))


def _compiled(function: Callable[..., Any], *tensors: Any) -> Run:
    """``function`` by ``torch.compile``, for these shapes; it is compiled here, before anything is timed."""
    import torch

    compiled = torch.compile(function, dynamic=False)
    run = _queued(lambda: compiled(*tensors))
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    return run


def _queued(call: Callable[[], Any]) -> Run:
    """``call``, on CuPy's current stream."""
    import cupy
    import torch

    def run() -> Any:
        with torch.cuda.stream(torch.cuda.ExternalStream(cupy.cuda.get_current_stream().ptr)):
            return call()

    return run
