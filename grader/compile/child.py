"""The compile child: runs NVRTC on sources inside the sandbox, and answers with the log and the PTX.

It calls NVRTC's C interface (nvrtc.h) through ctypes: the child usually lives for one compilation, so that importing
CuPy would dominate, and it must load the library whose folder the sandbox allows.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import suppress
from typing import Any

from grader.process.channel import ChannelClosed, attach


def main() -> None:
    """Load NVRTC, apply the sandbox, then compile sources until the parent closes the channel."""
    channel, sandbox = attach()
    setup, _ = channel.receive(None)
    # Both before the sandbox: loading them later would need read access to the system's library folders.
    nvrtc = ctypes.CDLL(setup["library"])
    ctypes.CDLL(setup["builtins"])
    state = sandbox.apply()
    with suppress(ChannelClosed):
        while True:
            request, _ = channel.receive(None)
            started = time.process_time()
            answer = compiled(nvrtc, request)
            channel.send({"sandbox": state, "cpu_s": time.process_time() - started} | answer)


def compiled(nvrtc: ctypes.CDLL, request: dict[str, Any]) -> dict[str, Any]:
    """Compile ``request["source"]``: ``status`` (nvrtcResult), ``log``, ``ptx`` and its full size in bytes.

    Its headers are text, too: NVRTC finds them by their names before it looks into any folder.
    """
    program = ctypes.c_void_p()
    name = request["name"].encode()
    headers = request["headers"]
    texts, names = (_strings([text.encode() for text in part]) for part in (headers.values(), headers))
    status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), request["source"], name, len(headers), texts, names)
    if status:
        return {"status": status, "log": b"", "ptx": b"", "ptx_bytes": 0}
    options = [option.encode() for option in request["options"]]
    status = nvrtc.nvrtcCompileProgram(program, len(options), _strings(options))
    log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    ptx = b"" if status else _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    log_bytes, half = len(log), request["log_limit"] // 2
    if log_bytes > request["log_limit"]:  # keep both ends: the first error may come after many warnings
        log = log[:half] + b"\n" + log[-half:]
    kept = ptx if len(ptx) <= request["ptx_limit"] else b""
    return {"status": status, "log": log, "log_bytes": log_bytes, "ptx": kept, "ptx_bytes": len(ptx)}


def _strings(values: list[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(values))(*values)


def _text(size_of: Any, content_of: Any, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    if size_of(program, ctypes.byref(size)) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    content_of(program, buffer)
    return buffer.value
