"""Every rule of advice speaks for its own example, before any other; what is then said stands here.

`pytest --inline-snapshot=fix tests/grading/test_hint_rules.py` writes the sentences anew.
"""

from __future__ import annotations

from textwrap import fill

import pytest
from inline_snapshot import snapshot

from grader.findings.kinds import KINDS
from grader.findings.sentences import KINDS as IN_WORDS
from grader.grading.hints import in_words, rules
from grader.grading.hints.rules import Rule
from grader.verdict import VERDICTS


@pytest.mark.parametrize("rule", rules(), ids=[rule.name for rule in rules()])
def test_rule_speaks_for_its_own_example(rule: Rule) -> None:
    assert in_words(rule.example, rule.seen).rule == rule.name


def test_rules_and_sentences_are_about_kinds_that_there_are() -> None:
    assert {*IN_WORDS} <= {*KINDS, *VERDICTS}
    assert {kind for rule in rules() for kind in rule.kinds} <= {*IN_WORDS}


def shown(rule: Rule) -> str:
    """The rule's name, the sentence of its example, and the hint."""
    one = in_words(rule.example, rule.seen)
    return f"{rule.name}\n{_block(one.message, '    ')}\n{_block(one.hint, '    → ')}\n"


def _block(text: str, begin: str) -> str:
    return fill(text, 112, initial_indent=begin, subsequent_indent=" " * len(begin), break_on_hyphens=False)


def test_examples_are_told_in_these_words() -> None:
    assert "\n".join(map(shown, rules())) == snapshot("""\
large.negative_index
    thread 5 of block 0 writes src[-2147483643] (array x), but src has 3221225472 elements (0 to 3221225471), at
    k.cu:4
    → src has 3221225472 elements, and an `int` ends at 2147483647: a product that is larger turns negative.
      Compute the index in 64 bits, with `(size_t)` in front of the product's first factor

large.index_that_begins_again
    y[9] at m=131072: got 5.0, expected 4.0; 1 of 256 elements is wrong; only three blocks ran; it is probably
    thread 5 of block 0 that should write it
    → smaller sizes are right, and here an array has 8589934592 elements: is an index, a product in it, or a
      number of bytes computed in 32 bits? (With `(size_t)` in front of its first factor a product has 64.) Or
      is something done for smaller sizes only?

slips.loop_of_a_lone_semicolon
    thread 5 of block 0 writes src[63] (array x), but src has 63 elements (0 to 62), at k.cu:5
    → the `;` at the end of line 4 is the whole body of the `for`: what stands below runs once, after it. Take
      the `;` out

slips.statement_that_is_not_in_the_if
    thread 5 of block 0 writes src[63] (array x), but src has 63 elements (0 to 62), at k.cu:5
    → the `if (t < 63)` in line 4 has no braces, so only its first statement is in it, and line 5 stores or
      loads always: put both statements into { }

slips.assignment_for_a_comparison
    y[0] at n=9: it was never written; expected 5.0; it is probably thread 5 of block 0 that should write it
    → the condition `t = 0` in line 4 changes t: to compare, write `==`

slips.block_of_one_row
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → the blocks of the launch in line 1 are one row of 256 threads, so `threadIdx.y`, line 4, is 0 in all of
      them: is block= what the kernel needs?

slips.arguments_in_another_order
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → line 1 passes `y` for the parameter `src` of k: are the arguments in the order of the parameters?

slips.variable_of_an_inner_block
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → `sum` in line 6 is a new variable, which ends in line 7: line 8 uses the one of line 4. To change that
      one, leave out the type

slips.value_under_a_condition
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → where `t < 9` is false, `sum` has no value yet when line 7 uses it

slips.value_of_the_last_iteration
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → line 6 sets `sum` anew in each iteration of the loop in line 5, so that only the last one counts: is `+=`
      meant, or the larger of both?

slips.value_that_is_dropped
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → line 5 calls fmaxf and uses nothing of what it returns: is a `… =` missing?

slips.array_of_each_thread
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → line 4 declares an array `part` for each thread alone: for one that all threads of the block share, write
      `__shared__` before its type

slips.whole_number_for_a_fraction
    y[0] at n=9: got 0.0, expected 5.5; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → `sum` in line 4 is of type `int`, which drops the fraction: declare it `float`

fragments.tile_in_the_matrix
    thread 5 of block 0 writes 4 bytes at src[528] (elements 1056 and 1057 of array x), but src has 1024
    elements, at k.cu:4
    → this is one lane's part of a tile: the tile begins at `src + row * k + i`, and its rows are `k` elements
      apart. Does this warp have a tile there, and is a row of src that long?

fragments.tile_at_a_multiple
    thread 5 of block 0 writes 4 bytes at src[255] (elements 510 and 511 of array x), but src has 512 elements,
    at k.cu:4
    → a tile must begin at a multiple of 32 bytes, and its rows must be a multiple of 16 bytes apart: look at
      `src + row * k + i`, at how far its variables go on in a step, and at `k`

fragments.tile_of_another_warp
    race on x[3]: written by thread 4 at k.cu:4, written by thread 64 at k.cu:4, no barrier between
    → the tiles of two warps have this element in common: the tile begins at `src + row * n + col`, and its rows
      are `k` elements apart. Does each warp of the grid have a tile of its own, and is a row of x that long?

extents.type_of_the_array
    the kernel overwrote its input a
    → declare `const float* a`, as the arrays are

extents.arguments_of_the_launch
    thread 5 of block 0 writes src[64] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → this kernel is the given one, and right: look at what the launch passes to it (k_host.py:9). Is each
      argument in its place, does it count what the kernel counts, and is the memory behind it large enough?

extents.condition_of_nothing
    thread 5 of block 0 writes src[64] (array x), but src has 64 elements (0 to 63), at k.cu:5
    → the `;` after `if (t < 64)` in line 4 ends the `if`, so it guards nothing: take it out

extents.uneven_pass
    thread 5 of block 1 writes src[1] (array x), but src has 1 element, at k.cu:4
    → grid= and `by` in line 1 disagree: a pass starts 2 blocks, but `by` leaves 1: both must be the number of
      elements that the pass stores

extents.scratch_for_fewer_blocks
    thread 5 of block 4 writes src[4] (array x), but src has 4 elements (0 to 3), at k.cu:4
    → the launch in line 1 starts 8 blocks, but scratch x has 4 elements: make the `// scratch` array larger, or
      the grid smaller

extents.one_element_for_all_blocks
    thread 5 of block 1 writes src[1] (array x), but src has 1 element, at k.cu:4
    → the launch in line 1 starts 8 blocks, but x has 1 element: let the blocks store their results in scratch,
      or in turn

extents.bytes_added_to_a_pointer
    thread 5 of block 0 writes shared part[64], but part has 64 elements (0 to 63), at k.cu:4
    → `high` begins at `part + 8 * sizeof(float)`, line 3: a pointer counts elements, not bytes, so leave out
      the sizeof

extents.too_little_for_the_block
    thread 5 of block 0 writes shared x[16], bytes 64 to 67, but the launch line's shared= gives 64 bytes, at
    k.cu:4
    → shared= is the bytes of one block, and this access needs 68 or more: N elements of 4 bytes are shared=N*4

extents.wide_access
    thread 5 of block 0 writes 16 bytes at src[1020] (elements 1020 to 1023 of array x), but src has 1022
    elements, at k.cu:4
    → 16 bytes are 4 elements: access whole groups of 4 like this, and one by one the elements that are left

extents.index_cast_to_a_short_type
    thread 5 of block 0 writes src[-32768] (array x), but src has 65536 elements (0 to 65535), at k.cu:4
    → the index is cast to `short`, which ends at 32767, and src has 65536 elements: leave out the cast

extents.variable_too_short_for_the_grid
    thread 5 of block 0 writes src[-32768] (array x), but src has 65536 elements (0 to 65535), at k.cu:4
    → `i` is a `short`, which ends at 32767, and there are 65536 threads: make it an `int`

extents.index_in_the_whole_grid
    thread 5 of block 1 writes shared part[69], but part has 64 elements (0 to 63), at k.cu:4
    → each block has a part of its own: index it with threadIdx.x, not with the index in the whole grid

extents.index_made_of_the_block
    thread 5 of block 1 writes shared part[70], but part has 64 elements (0 to 63), at k.cu:4
    → each block has a part of its own, and the index `i + 1` grows with blockIdx: count with threadIdx alone

bounds.all_must_be_inside
    thread 5 of block 0 writes src[64] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → `r < rows || c < cols` is true where one of these is true, and all of them must be: write `&&` for `||`

bounds.one_too_many
    thread 5 of block 0 writes src[63] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → `t <= 63` also lets `t` = `63` through, which is one too many: write `t < 63`

bounds.guard_turned_round
    thread 5 of block 0 writes src[64] (array x), but src has 64 elements (0 to 63), at k.cu:5
    → the `if` that returns takes out the threads that have an element, and lets `t` = 64 go on: return where `t
      >= n`

bounds.length_of_a_row
    thread 5 of block 0 writes src[64] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → in `c * cols + r` a row is `cols` elements long, but `r` ends at `rows`: how long is a row of src, and is
      the condition on `r` right?

bounds.row_or_column_that_nothing_bounds
    thread 5 of block 0 writes src[64] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → nothing compares its row `r` in `r * cols + c`: row and column must be inside, each by itself

bounds.condition_lets_it_through
    thread 5 of block 0 writes src[63] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → the condition `t < 64` lets thread 5 through to index 63 of src: which threads should it let through?

bounds.all_threads_add
    thread 5 of block 0 writes shared part[64], but part has 64 elements (0 to 63), at k.cu:5
    → all threads of the block come to line 5, also thread 5, for which `t + s` is 64: put an `if` before it
      that lets only those through that have a partner in this step

bounds.pointer_into_the_array
    thread 5 of block 0 writes src[63] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → `p` begins at `src + n * threadIdx.x`, line 4: is that its place in src, and how far may `t` go from
      there?

bounds.bound_lets_it_through
    thread 5 of block 0 writes src[63] (array x), but src has 63 elements (0 to 62), at k.cu:5
    → although `t < 64`, thread 5 comes to index 63 of src, which is `t`: is that the element you mean, and is
      the bound right?

bounds.before_the_array
    thread 5 of block 0 writes src[-1] (array x), but src has 64 elements (0 to 63), at k.cu:4
    → index -1 lies before the array: if the index is right, this thread has to skip the access

bounds.beyond_what_the_launch_line_gives
    thread 5 of block 0 writes shared part[64], but part has 64 elements (0 to 63), at k.cu:4
    → shared=256 gives the block 64 elements, 0 to 63: is the index too large, or a condition that lets thread 5
      get there? Only if a block does need more than 64 elements, make shared= larger

bounds.length_of_the_array
    thread 5 of block 0 writes src[64] (array x), but src has 63 elements (0 to 62), at k.cu:4
    → compare the index with the array's length before the access: here src has 63 elements, 0 to 62

hostfile.meant_for_the_graph
    kernel k on stream 1 (k_host.py:20) reads the device copy of x before the copy on stream 2 (k_host.py:16)
    that fills it; no event between them
    → the copy (line 16) was queued on stream 2 while stream 1 was being captured, so it is not in the graph:
      copy on the stream that is being captured, by a call that does not wait: memcpyAsync(…, stream.ptr)

hostfile.wait_in_setup
    kernel k on stream 1 (k_host.py:20) reads the device copy of x before the copy on stream 2 (k_host.py:16),
    in setup(), that fills it; no event between them
    → wait at the end of setup() for what it has queued: `cupy.cuda.Device().synchronize()`. That time does not
      count

hostfile.event_recorded_too_early
    kernel k on stream 1 (k_host.py:20) reads the device copy of x before the copy on stream 2 (k_host.py:16)
    that fills it; no event between them
    → stream 1 does wait for an event (line 19), but that was recorded on stream 2 (line 15) before the copy
      (line 16) was queued: wait for an event that was recorded after it; or put both on one stream

hostfile.event_of_another_stream
    kernel k on stream 1 (k_host.py:20) reads the device copy of x before the copy on stream 2 (k_host.py:16)
    that fills it; no event between them
    → stream 1 does wait for an event (line 19), but that was recorded on stream 3 (line 15), not on stream 2
      after the copy (line 16): wait for one that is recorded there; or put both on one stream

hostfile.record_an_event
    kernel k on stream 1 (k_host.py:20) writes the device copy of x, which the fill on the default stream
    (k_host.py:16) writes too: either may come last; no event between them
    → record an event on the default stream after the fill (line 16) and let stream 1 wait for it first
      (`stream.wait_event(event)`); or put both on one stream; or give each a buffer of its own. What is queued
      outside of `with stream:` goes to the default stream. A stream made with non_blocking=True does not wait
      for the default stream, nor that one for it

hostfile.let_its_kernels_in
    cudaErrorIllegalAddress: kernel k on stream 1 (k_host.py:20) uses the copy of x, which kernels of device 0
    may not reach
    → let its kernels in: deviceEnablePeerAccess(1) while device 0 is current

hostfile.exact_type
    argument 2 of k (k_host.py:14) is a Python float of 8 bytes, and the parameter r is a float of 4, so that
    the kernel sees 0 instead of 0.5
    → a launch copies bytes and converts nothing: pass np.float32(r)

hostfile.capture_it
    kernel k on stream 1 (k_host.py:20) was launched while stream 2 was being captured (begin_capture on line
    14): it ran at once, and is not in the graph
    → put it inside `with stream:`, with the stream that is being captured

hostfile.into_the_given_array
    run() copied 4 KiB to another array (line 20), and nothing to out
    → write into the out that setup() got: `.get(out=out)`, or `out[:] = …`; a new array under the same name is
      another one

hostfile.side_by_side
    2 streams hold all their copies in before the first kernel (lines 20 and 22): a stream runs its operations
    in order.
    → go chunk by chunk: copy in, kernel and copy out of one chunk, then those of the next

hostfile.wait_at_the_end_of_run
    run() returned while the copy of out on stream 1 (k_host.py:20) was still queued; it writes the host's
    memory, and nothing waited for it
    → wait at the end of run(), once: `stream.synchronize()` for each stream that still has work, or for an
      event after all of it

hostfile.wait_at_the_end_of_setup
    setup() returned while kernel k on stream 1 (k_host.py:20) was still queued; it uses x, which got new values
    since then
    → wait at the end of setup() for what it has queued: `cupy.cuda.Device().synchronize()`. That time does not
      count

hostfile.wait_before_the_host_writes
    the host changed x before the copy on stream 1 (k_host.py:20) had read it: it was queued, and nothing waited
    for it
    → memory of the host is read when the operation is done, not when it is queued: wait for it before you write
      there (an event after it, `event.synchronize()`), or take another buffer

hostfile.wait_for_what_writes_there
    the host changed x before the copy on stream 1 (k_host.py:20) had written it: it was queued, and nothing
    waited for it
    → memory of the host is written when the operation is done, not when it is queued, so that either may come
      last: wait for it before you write there (an event after it, `event.synchronize()`), or take another
      buffer

hostfile.keep_arrays_of_the_graph
    kernel k of a graph on stream 1 (k_host.py:20) uses the device copy of x, which no variable refers to any
    more since line 12
    → a graph keeps the addresses with which it was captured, but not the arrays: keep those beside the graph.
      CuPy gives memory that nobody holds to the next array

hostfile.keep_the_array
    kernel k on stream 1 (k_host.py:20) uses the device copy of x, which no variable refers to any more since
    line 12
    → keep the array as long as something uses its address: CuPy gives memory that nobody holds to the next
      array

hostfile.leave_it_pinned
    the copy on stream 1 (k_host.py:20) uses the device copy of x, which was unpinned on line 12 before the copy
    was done
    → hostUnregister need not wait for queued copies: wait for them first, or leave the array pinned

hostfile.wait_before_freeing
    kernel k on stream 1 (k_host.py:20) uses the device copy of x, which was freed on line 12
    → freeing need not wait for queued work, so wait for what uses the memory first. A graph keeps the addresses
      with which it was captured

hostfile.pin_it
    cudaErrorIllegalAddress: kernel k on stream 1 (k_host.py:20) uses x, which is ordinary host memory: a GPU
    cannot reach it
    → pin it first (hostRegister), and pass the devicePointer that pointerGetAttributes returns

hostfile.order_of_the_parameters
    argument 2 of k (k_host.py:14) is an address of 8 bytes, and the parameter r is a float of 4
    → pass the arguments in the order of the kernel's parameters

hostfile.wait_for_the_kernel
    the host wrote x while kernel k on stream 1 (k_host.py:20) was still queued, which writes `y`: if it
    computed the first from the second, it read too early
    → wait for the kernel before the host reads what it writes: `stream.synchronize()`

hostfile.end_the_capture
    setup() returned while stream 1 was still being captured: no graph came of it
    → end the capture in setup(), and keep what `stream.end_capture()` returns: it is the graph

hostfile.launch_inside_the_capture
    the graph that is launched here (captured from line 10 on) holds copies or fills (2), and no kernel
    → a launch becomes part of the graph inside `with stream:`, between begin_capture() and end_capture()

hostfile.a_kernel_writes_first
    the copy on stream 1 (k_host.py:20) copied 4 KiB of the device copy of out, allocated at line 9, that were
    never written
    → a kernel has to write that memory first: see that it is launched before the copy, and gets this array

hostfile.prefetch_after_the_host
    the most came when kernel k on stream 1 (k_host.py:20) touched `x` (1 MiB of managed memory, allocated at
    line 9), whose pages were on the host: the host wrote there after the prefetch on line 14
    → move the prefetch after the host's writing: pages that the host writes to go back to it

hostfile.prefetch_to_the_gpu
    the most came when kernel k on stream 1 (k_host.py:20) touched `x` (1 MiB of managed memory, allocated at
    line 9), whose pages were on the host: the prefetch on line 14 sent them there
    → prefetch to the GPU: the number of the device, not cudaCpuDeviceId (-1)

hostfile.prefetch_all_of_it
    the most came when kernel k on stream 1 (k_host.py:20) touched `x` (1 MiB of managed memory, allocated at
    line 9), whose pages were on the host: the prefetch on line 14 covers 256 KiB of 1 MiB
    → prefetch all that the kernel uses: the size counts bytes (`nbytes`)

unwritten.return_before_ones_own_store
    thread 5 of block 0 reads shared part[3] at k.cu:6 before it was written
    → threads that return in line 4 never write their elements: let every thread of the block store something, 0
      for a sum, and return only after the last barrier

unwritten.call_by_some_threads
    thread 5 of block 0 reads shared part[3] at k.cu:4 before it was written
    → line 7 calls sum only where `threadIdx.x < 8`, and it waits at a barrier for what each thread brings: let
      all threads of the block make the call, with a value that changes nothing if they have none

unwritten.element_beyond_the_threads
    thread 5 of block 0 reads shared part[64] at k.cu:6 before it was written
    → the launch in line 1 starts blocks of 64 threads, and this is element 64: which thread should write it?

unwritten.adds_to_what_is_there
    thread 5 of block 0 reads x[3] at k.cu:4 before it was written
    → is `=` meant for the `+=`? Else a `// zero x` line sets the array to 0 before the launch

unwritten.zeros_before_it_is_added_to
    thread 5 of block 0 reads global memory at k.cu:4 before it was written
    → an atomic changes what is there, and outputs and scratch arrays start with garbage values: clear the array
      in a `// zero` line before the launch

unwritten.write_before_the_read
    thread 5 of block 0 reads shared part[3] at k.cu:4 before it was written
    → write every element before it is read

barriers.barrier_that_is_not_called
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:6, no barrier between
    → line 5 says `__syncthreads` without (), which calls nothing: write `__syncthreads();`

barriers.barrier_of_one_warp
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:6, no barrier between
    → the __syncwarp() in line 5 orders the lanes of one warp only: between warps it takes __syncthreads()

barriers.return_before_the_barrier
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:7, no barrier between
    → the __syncthreads() in line 6 does not order these two: threads that return in line 5 never reach it, and
      it waits for the others only. Put the work into an if, so that every thread of the block stays until the
      last barrier

barriers.barrier_of_one_round
    race on shared part[3]: read by thread 49 at k.cu:7, written by thread 5 at k.cu:5, no barrier between
    → the __syncthreads() in line 6 orders one iteration of the loop in line 4, but not the next iteration after
      it: end the loop's body with a __syncthreads() too

barriers.barrier_of_one_call
    race on shared part[3]: written by thread 49 at k.cu:2, read by thread 5 at k.cu:4, no barrier between
    → written in the call in line 8, read in the call in line 7, and the __syncthreads() in line 3 orders the
      accesses of one call of f() only: end f() with a __syncthreads() after its last access, or give each call
      an array of its own

barriers.way_around_the_barrier
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:7, no barrier between
    → the __syncthreads() in line 6 does not order these two: is there a way around it?

barriers.step_of_one_warp
    race on shared part[3]: written by thread 9 at k.cu:5, read by thread 5 at k.cu:5, no barrier between
    → both threads are lanes of one warp, and the lanes of a warp do not run in step: put a __syncwarp() between
      a step and the next, and let only the lanes that add take part (`if (t < s)`); or read into a variable,
      __syncwarp(), then write. Shuffles need neither

barriers.steps_of_one_warp
    race on shared part[3]: written by thread 9 at k.cu:5, read by thread 5 at k.cu:6, no barrier between
    → both threads are lanes of one warp, and the lanes of a warp do not run in step: put a __syncwarp() between
      the two accesses

barriers.no_barrier_before_the_next_round
    race on shared part[3]: written by thread 49 at k.cu:5, read by thread 5 at k.cu:5, no barrier between
    → line 5 runs again in the next iteration of the loop in line 4, on what other threads have just written:
      end the loop's body with __syncthreads()

barriers.read_and_write_of_one_step
    race on shared part[3]: read by thread 32 at k.cu:4, written by thread 31 at k.cu:4, no barrier between
    → in line 4 a thread reads the element that another one writes: read into a variable, __syncthreads(), then
      write. If only some threads are to take part in a step, does a condition hold back the others? In a loop
      each step needs a barrier after it as well

overlaps.one_element_of_all_blocks
    race on x[0]: written by thread 0 of block 1 at k.cu:4, written by thread 0 of block 0 at k.cu:4, in
    different blocks of one launch
    → did each block mean x[blockIdx.x]? If the element is meant for all of them: use an atomic, or a second
      launch

overlaps.rows_that_overlap
    race on x[3]: written by thread 1 at k.cu:2, written by thread 2 at k.cu:2, no barrier between
    → in `r * rows + c` a row is `rows` elements long, but `c` ends at `cols`, so the rows overlap: how long is
      a row of x, and is the condition on it?

overlaps.one_index_for_all_threads
    race on x[3]: written by thread 49 at k.cu:4, written by thread 5 at k.cu:4, no barrier between
    → `blockIdx.x` is the same for all threads of a block: let one of them store there (`if (threadIdx.x ==
      0)`), or does the index lack threadIdx?

overlaps.one_index_in_all_blocks
    race on x[0]: written by thread 0 of block 1 at k.cu:4, written by thread 0 of block 0 at k.cu:4, in
    different blocks of one launch
    → `threadIdx.x` is the same in all blocks, so each stores to the same elements: does the index lack
      blockIdx?

overlaps.same_index_in_two_blocks
    race on x[0]: written by thread 0 of block 1 at k.cu:4, written by thread 0 of block 0 at k.cu:4, in
    different blocks of one launch
    → `start + c` is 0 for thread 0 of block 1 and for thread 0 of block 0, and only one of them should store
      there: check the index and the condition `c < n`

overlaps.two_indices_that_meet
    race on x[3]: written by thread 0 of block 1 at k.cu:4, written by thread 0 of block 0 at k.cu:5, in
    different blocks of one launch
    → `x[t]` in line 4 and `x[t + 64]` in line 5 are one element for two blocks: if each block is to have its
      own, look at where a block begins, and at both indices

overlaps.arrays_that_overlap
    race on shared part[3]: written by thread 0 at k.cu:4, written by thread 64 at k.cu:5, no barrier between
    → `low[t]` in line 4 and `high[t]` in line 5 are one element for two threads, so the two arrays overlap:
      where does each begin, and how many elements has it?

overlaps.same_index_twice
    race on shared part[3]: written by thread 49 at k.cu:4, written by thread 5 at k.cu:4, no barrier between
    → two threads come to the same index: give each an element of its own, or let only one of them store there,
      or look at the condition: is it about the element that this line stores?

copies.group_that_is_never_closed
    race on shared part[3]: read by thread 5 at k.cu:6, while the asynchronous copy that it started itself at
    k.cu:4 is still in flight: it has not waited for it
    → the wait in line 5 waits for groups of copies, and none is ever closed: put __pipeline_commit() after the
      copies of each step

copies.wait_that_leaves_groups
    race on shared part[3]: read by thread 5 at k.cu:6, while the asynchronous copy that it started itself at
    k.cu:4 is still in flight: it has not waited for it
    → line 5 waits until at most 1 of the newest groups is in flight, and this copy is in one of them: wait for
      more, or close a group more before (an empty one counts)

copies.wait_of_the_group
    race on shared part[3]: read by thread 5 at k.cu:6, while the asynchronous copy that it started itself at
    k.cu:4 is still in flight: it has not waited for it
    → cg::memcpy_async only starts the copy: put cg::wait(group) before the access. It waits for all copies and
      synchronises the group; wait_prior<N> leaves the newest N in flight, and sync() waits for none

copies.wait_of_the_object
    race on shared part[3]: read by thread 5 at k.cu:6, while the asynchronous copy that it started itself at
    k.cu:4 is still in flight: it has not waited for it
    → cuda::memcpy_async only starts the copy, and its last argument is what to wait for before the access: a
      pipeline with consumer_wait(), a barrier with wait() or arrive_and_wait(). __syncthreads() does not wait
      for it

copies.wait_for_the_first_copy
    race on shared part[3]: a second asynchronous copy into it, by thread 5 at k.cu:6, while the one that thread
    49 started at k.cu:4 is still in flight
    → wait for the first copy, and let all threads read what it brought, before the next one overwrites it

copies.wait_before_the_access
    race on shared part[3]: read by thread 5 at k.cu:6, while the asynchronous copy that it started itself at
    k.cu:4 is still in flight: it has not waited for it
    → before the access: __pipeline_wait_prior(0) (cp.async.wait_group 0; a larger number leaves that many of
      the newest groups in flight); then a __syncthreads(), too, if threads use what others have copied

copies.every_thread_waits
    race on shared part[3]: read by thread 5 at k.cu:6, while the asynchronous copy that thread 49 started at
    k.cu:4 is still in flight: thread 49 has not waited for it
    → every thread must wait for its own copies, __pipeline_wait_prior(0) (cp.async.wait_group 0; a larger
      number leaves that many of the newest groups in flight), and a __syncthreads() must follow before others
      read them

copies.copy_overwrites
    race on shared part[3]: read by thread 49 at k.cu:4, copied by thread 5 at k.cu:6, no barrier between
    → the copy overwrites what other threads may still need: put a __syncthreads() between their last use and
      the copy

copies.copy_of_another_thread
    race on shared part[3]: copied by thread 49 at k.cu:4, read by thread 5 at k.cu:6, no barrier between
    → a wait is for the thread's own copies only: put a __syncthreads() after it. In a loop the copy of the next
      iteration must not start, either, before every thread is done with what it overwrites

races.fence_of_the_block
    race on x[3]: written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at k.cu:6, in different
    blocks
    → the __threadfence_block() in line 5 orders for the threads of its own block: what another block is to see
      takes a __threadfence()

races.one_block_should_store
    race on x[3]: written by thread 0 of block 1 at k.cu:4, written by thread 0 of block 0 at k.cu:4, in
    different blocks
    → let one block store there, the one that has the whole result, or give each block elements of its own: is
      the index, or where the block begins, right? Only where one block waits for the other's signal, put a
      __threadfence() before that signal

races.number_before_the_atomics
    race on x[3]: updated atomically by thread 0 of block 0 at k.cu:5, written by thread 0 of block 1 at k.cu:4,
    in different blocks of one launch
    → a block that begins late stores 0 in line 4 over what others have added by then: a `// zero x` line does
      that before all of them

races.one_array_for_two_parameters
    race on src or dst[3] (array x): written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at
    k.cu:6, in different blocks of one launch
    → the kernel's src and dst are the same memory here: pass two arrays that take turns

races.element_that_the_data_choose
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:4, no barrier between
    → `part[x[t]]` is the same element for all threads that have the same value there, and no barrier keeps them
      apart: change it with an atomic, `atomicAdd(&part[x[t]], …)`

races.barrier_of_block_or_warp
    race on shared part[3]: written by thread 9 at k.cu:4, read by thread 5 at k.cu:5, no barrier between
    → put a __syncthreads() between the two accesses, or a __syncwarp() if only the lanes of one warp share
      these elements; if they stand in a loop, one between its rounds, too

races.atomic_of_the_block
    race on x[3]: updated atomically by thread 0 of block 1 at k.cu:4, updated atomically by thread 0 of block 0
    at k.cu:4: this atomic is one step for the threads of its own block only
    → leave out the `_block` in the function's name (in PTX it is `.cta`): without it an atomic is one step for
      all blocks

races.grid_sync_between_blocks
    race on x[3]: written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at k.cu:6, in different
    blocks of one launch
    → put a grid.sync() between the two accesses: it orders all blocks, __syncthreads() only its own

races.all_blocks_wait
    race on x[3]: written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at k.cu:6, in different
    blocks of one launch
    → put a cooperative_groups::this_grid().sync() between the two accesses: it orders all blocks,
      __syncthreads() only its own

races.read_and_write_of_blocks
    race on x[3]: written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at k.cu:6, in different
    blocks of one launch
    → blocks run in any order. If both are to use this element: write to another array than the one that is
      read, or use a second launch; where all blocks change it, an atomic. If not, one of the two indices is
      wrong

races.writes_of_blocks
    race on x[3]: written by thread 0 of block 1 at k.cu:4, written by thread 0 of block 0 at k.cu:6, in
    different blocks of one launch
    → blocks run in any order: let only one of them store to the element; where each has a part of the result,
      use an atomic, or a second launch

races.one_line_in_shared
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:4, no barrier between
    → one line does both: in a loop, end its body with __syncthreads(); else let one thread do it, or atomicAdd

races.one_line
    race on x[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:4, no barrier between
    → one line does both: if the element is meant for all of them, use atomicAdd; if threads read what others
      write, write to another array than the one that is read

races.grid_sync_or_barrier
    race on x[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:6, no barrier between
    → put a grid.sync() between the two accesses, or a __syncthreads() if other blocks never touch them

races.barrier_of_the_block
    race on shared part[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:6, no barrier between
    → put a __syncthreads() between the two accesses; if they stand in a loop, one between its rounds, too

races.within_one_launch
    race on x[3]: written by thread 49 at k.cu:4, read by thread 5 at k.cu:6, no barrier between
    → if no other block touches these elements, put a __syncthreads() between the two accesses; else write to
      another array than the one that is read, or use a second launch

races.barrier_of_ones_own
    race on x[3]: written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at k.cu:6, in different
    blocks
    → let all blocks wait with cooperative_groups::this_grid().sync(). A barrier of your own needs a
      __threadfence() before its atomic and after its wait, and a counter that begins anew in each launch

races.fence_before_the_signal
    race on x[3]: written by thread 5 of block 1 at k.cu:4, read by thread 5 of block 0 at k.cu:6, in different
    blocks
    → if an atomic tells the other block that the value is there, put a __threadfence() before that atomic

races.volatile_orders_nothing
    the answer depends on the order in which warps and blocks run: in another order that a GPU may choose, two
    threads access the same address without an order; look at line 4 (volatile write) and line 6 (volatile read)
    → `volatile` lets no thread wait for another. Between threads of a block put a __syncthreads(), within one
      warp a __syncwarp(). To hand values to another block, put a __threadfence() before the atomic or the flag
      that tells about them

races.no_order_of_atomics
    the answer depends on the order in which warps and blocks run: in another order that a GPU may choose, two
    threads access the same address without an order; look at line 4 (volatile write) and line 6 (volatile read)
    → an atomic is one step, but nothing holds two of them together, and no block knows that it is the last:
      change the element with one atomic, and let the block that draws the last ticket do what is left

races.the_same_work_twice
    two threads write the same value to x[3]: thread 0 of block 1 at k.cu:4, thread 0 of block 0 at k.cu:4
    → both compute the same index. If each element is to be one thread's work, look at where a thread's index
      begins, and how far it steps

races.one_writer_is_enough
    two threads write the same value to shared part[3]: thread 49 at k.cu:4, thread 5 at k.cu:4
    → harmless here, but one writer is enough

faults.pointer_of_the_host_file
    thread 5 of block 0 uses a null pointer at k.cu:4
    → check which pointer the launch at k_host.py:9 passes here. The devicePointer of pointerGetAttributes is 0
      for host memory that is not registered

faults.slice_of_an_array
    thread 5 of block 0 makes a misaligned access of 16 bytes to x[0] at k.cu:4
    → `x` itself begins 4 bytes after a multiple of 16, as a slice may: make accesses of 16 bytes only where its
      address allows them, `(size_t)x % 16 == 0`, and others element by element

faults.offset_before_the_cast
    thread 5 of block 0 makes a misaligned access of 16 bytes to x[1] at k.cu:4
    → the address must be a multiple of 16 bytes: look at the offset before the cast to a wider type

faults.same_call_for_all
    barrier divergence: thread 0 and thread 5 of one block come to the barrier at k.cu:4 in different branches
    or iterations, so the kernel never ends
    → sum waits at a barrier, and line 7 calls it: every thread must make each call, outside of any if, and of a
      loop that some leave early

faults.whole_warps_make_the_call
    thread 5 of block 0 reads lane 16 at k.cu:4, which does not take part: the value is undefined
    → line 9 calls add only where `threadIdx.x < 8`, so that a part of the warp executes its shuffles: let whole
      warps make the call, `threadIdx.x < 32` for example

faults.threads_that_have_left
    thread 5 of block 0 reads lane 16 at k.cu:4, which does not take part: the value is undefined
    → threads leave in line 2 where `threadIdx.x >= 9`, and the shuffle needs all lanes of a warp: let them come
      to it with a value that changes nothing, and leave after it

faults.lane_that_is_meant
    thread 5 of block 0 reads lane 16 at k.cu:4, which does not take part: the value is undefined
    → `source` is 16 here: is that the lane that was meant? One whose value is read must execute the shuffle,
      too

faults.same_barrier_for_all
    barrier divergence: threads of one block wait at different barriers, thread 0 at k.cu:4 and thread 5 at
    k.cu:6, so the kernel never ends
    → every thread must reach the same __syncthreads(): move it out of the if, or of the loop that some leave
      early

faults.blocks_that_have_started
    deadlock: thread 5 of block 0 waits at k.cu:4 for a change of flags[0], which depends on block 7; but only 4
    of the launch's 8 blocks can be resident at once
    → a block starts only when there is room for it, and nothing promises in which order: wait only for blocks
      that have started before, which is sure with block numbers from an atomicAdd; or launch no more blocks
      than fit, each of which does more

faults.whole_warps
    wmma at k.cu:4 needs all 32 lanes of the warp, but lane 31 does not take part, seen by thread 5 of block 0
    → let whole warps execute it: no return and no branch before it, blocks of a multiple of 32 threads

faults.warp_that_is_not_whole
    thread 35 of block 0 reads lane 9 at k.cu:4, which does not take part: the value is undefined
    → the launch in line 1 starts blocks of 40 threads, so this warp has no lane 9: let block= be a multiple of
      32

faults.bounds_of_the_launch
    k cannot start: it needs 80 registers for each of 1024 threads, 81920 in total, and a multiprocessor has
    65536
    → take fewer threads a block, or tell the compiler to use fewer registers: __launch_bounds__(1024) before
      the kernel's name

faults.how_to_assemble
    registers, and limits of a GPU that only ptxas knows, were not checked: ptxas is not installed
    → install it

faults.pointer_of_the_launch_line
    thread 5 of block 0 uses a null pointer at k.cu:4
    → check which pointer the launch line passes here

faults.free_it_later
    thread 5 of block 0 uses x[3] at k.cu:4, which has been freed
    → free memory only when every kernel that uses it has ended

faults.constant_memory
    thread 5 of block 0 writes to constant memory (const W[0]) at k.cu:4
    → constant memory is written from the host only

faults.less_work_in_each_thread
    k used up the simulator's budget of instructions for one case (thread 5 of block 0 was at k.cu:4)
    → does each thread, or each block, do the work of all? Else look for a loop that runs longer than it should

faults.condition_of_the_loop
    endless or far too long: thread 5 of block 0 is still in the loop at k.cu:4 when its block has run as many
    instructions as the simulator allows a block (its instruction budget)
    → does the loop's condition ever become false? If so, the loop is only long: does every thread walk over the
      whole array?

faults.print_from_one_thread
    printf at k.cu:4 wrote more than the limit of 64 kB
    → print from one thread only: if (threadIdx.x == 0)

faults.cooperative_launch_line
    grid.sync() needs a cooperative launch: thread 5 of block 0 stops the kernel at k.cu:4
    → write cooperative at the end of the launch line; in a host file, compile the module with
      enable_cooperative_groups=True

faults.fewer_blocks_with_more_work
    a cooperative launch: k cannot start
    → let each block do more: grid=… with at most sm_count times the blocks that one multiprocessor holds

faults.smaller_launch
    the simulator does not run this launch of k: a grid of 1 blocks
    → look at its grid and block: launch fewer blocks or threads, or let each use less memory

faults.less_shared_memory
    k cannot start: a block needs 170000 bytes of shared memory, and can have at most 166912
    → use less shared memory in each block: its __shared__ arrays and shared= count together

faults.less_local_memory
    k cannot start: a thread needs 700000 bytes of local memory, and can have at most 524288
    → an array that a thread declares is local memory, each thread's own: put a large one into a `// scratch`
      array

faults.barrier_that_counts_more
    deadlock: thread 5 of block 0 waits at k.cu:4 for threads that never arrive; 32 of 64 threads have reached
    barrier 1; so the kernel never ends
    → every thread that the barrier counts must reach it

faults.object_that_nobody_initialised
    deadlock: thread 5 of block 0 waits at k.cu:4 for the barrier object bar, which was never initialised
    → let one thread init() it, and put a __syncthreads() after that

faults.arrivals_of_each_phase
    deadlock: thread 5 of block 0 waits at k.cu:4 for a phase of the barrier object bar that never ends; it
    expects 64 arrivals, and gets only 3
    → the count that the object is initialised with must be the number of arrivals in each phase; a thread that
      leaves must arrive_and_drop() (in a pipeline: producer_commit(), consumer_release(), quit())

faults.same_grid_sync_for_all
    deadlock: thread 5 of block 0 waits in grid.sync() at k.cu:4 for blocks that never reach it
    → every block must reach the same grid.sync(), also one that has nothing left to do: no return before it

faults.no_return_before_grid_sync
    barrier divergence: thread 0 waits in grid.sync() at k.cu:4, which every thread of the grid must reach, but
    thread 5 of its block has ended before
    → a thread without work must reach grid.sync() as well: put an if around the work, and no return before it

faults.who_should_write_it
    deadlock: thread 5 of block 0 waits at k.cu:4 for a change of flags[0]; no running thread could write it
    → look for who should write it: it may wait itself, may have ended before, or may never come to the line

faults.mask_of_those_that_come
    the mask at k.cu:4 names lanes that never arrive (lane 31), seen by thread 5 of block 0
    → name only the lanes that execute it, or move it out of the branch

faults.all_lanes_shuffle
    thread 5 of block 0 reads lane 7 at k.cu:4, which does not take part: the value is undefined
    → let all lanes of the warp execute the shuffle, and ignore what you do not need

faults.fine_while_unused
    thread 5 of block 0 reads lane 7 at k.cu:4, which does not take part: the value is undefined, but no output
    depends on it
    → harmless here; where such a value is used, all lanes of the warp must execute the shuffle

faults.read_what_is_written
    thread 5 of block 0 reads partial[5] at k.cu:4, which was never written: no output depends on it, but only
    what was written may be read
    → harmless here; read only what has been written before

faults.variables_as_they_were
    this is a second launch, after a first one that was right: `__device__` variables keep their values between
    launches
    → give each `__device__` variable its first value back before the kernel ends (the block that comes last can
      do that; atomicInc(&count, gridDim.x - 1) counts back to 0), or keep it in an array that a `// zero` line
      clears

faults.barrier_for_all_or_of_a_warp
    the __syncthreads() in line 4 is inside `if (t < 32)`, and warps end without it. This works, because ended
    warps do not count, but CUDA C asks for all threads of the block; lanes of one warp have __syncwarp()
    → put it outside the branch, for all threads; between the lanes of one warp use __syncwarp()

faults.mask_by_the_program
    the mask of __shfl_xor_sync in line 4 comes from __activemask(): the lanes that happen to be together there.
    Nothing promises that these are all that should take part: name them by a rule of your own
    → name the lanes by a rule of your own: 0xffffffff where the whole warp comes, or what a __ballot_sync()
      before the branch returns

faults.own_lane_in_the_mask
    thread 5 of block 0 executes bar.warp.sync at k.cu:4 with a mask that does not include its own lane
    → bit l of the mask stands for lane l, and each thread that executes the line needs its bit: where the whole
      warp does, the mask is 0xffffffff

outputs.return_before_the_store
    y[0] at n=9: it was never written; expected 5.0; it is probably thread 5 of block 0 that should write it
    → does the thread that should write y[0] return before it does, in line 4?

outputs.kernel_without_code
    y[0] at n=9: it was never written; expected 5.0; 1 of 9 elements is wrong; it is probably thread 5 of block
    0 that should write it
    → line 4 still says YOUR CODE: k does not store anything into y yet

outputs.axes_that_the_launch_exchanges
    y[80] at n=9: it was never written; expected 5.0; 9 of 800 elements are wrong; it is probably thread 5 of
    block 0 that should write it
    → `r` counts along .y up to `m` = 80, but the launch in line 1 starts 16 threads along y, and 80 along x:
      exchange .x and .y in the kernel, or the two directions of the launch

outputs.return_before_work_for_others
    y[0] at n=9: it was never written; expected 5.0; 1 of 9 elements is wrong; it is probably thread 5 of block
    0 that should write it
    → threads that return in line 4 store nothing after the barrier in line 6 either. If some of y is theirs
      there, put an if around the first part, and let no thread return before the barrier

outputs.grid_that_ends_before_the_array
    y[64] at n=65: it was never written; expected 5.0; 1 of 65 elements is wrong; it is probably thread 5 of
    block 0 that should write it
    → the launch in line 1 starts 64 threads (grid= times block=), and y has 65 elements: more blocks, or
      several elements a thread

outputs.threads_that_end_before_the_matrix
    y[65] (row 1, column 0) at n=65: it was never written; expected 5.0; 1 of 130 elements is wrong; it is
    probably thread 5 of block 0 that should write it
    → the launch in line 1 starts 1 block, and row 1 is the first that nobody wrote: do they reach every row of
      y?

outputs.variable_that_begins_again
    y[65536] at n=70000: it was never written; expected 5.0; 9 of 70000 elements are wrong; it is probably
    thread 5 of block 0 that should write it
    → `i` is an `unsigned short`, which begins again at 0 after 65535: make it an `int`

outputs.variable_without_a_first_value
    y[0] at n=9: got 1.0, expected 5.0; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → `sum` has no value yet when line 5 uses it: give it its first value in line 4

outputs.first_value_of_a_maximum
    y[0] at n=9: got inf, expected 5.0; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → `m` in line 4 begins with 0.0f, and it stays 0 where all values are negative: begin with -INFINITY, or
      with a value

outputs.row_as_long_as_there_are_rows
    y[0] at n=9: got 1.0, expected 5.0; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → in `r * rows + c`, line 2, a row is `rows` elements long, and there are `rows` rows, but `c` ends at
      `cols`: how long is a row of src?

outputs.exponential_that_overflows
    y[0] at n=9: got nan, expected 5.0; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it
    → line 4 takes `expf(src[0])` of a value as it is: above 88.7 that is infinity in a float, and infinity /
      infinity is NaN. Subtract the largest value first

outputs.inputs_of_each_run
    y[0] at n=9: got 1.0, expected 5.0; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it; it would be right for what was in x before
    → there are new values before each run, in the same place: run() has to take them from there, every time

outputs.order_of_each_run
    y[0] at n=9: got 1.0, expected 5.0; all 9 elements are wrong; it is probably thread 5 of block 0 that should
    write it; it would be right for what was in x before
    → something in run() comes too early: a kernel before the new values are where it reads them, or what
      fetches the results before the kernel has written them

outputs.cast_of_a_const_input
    the kernel overwrote its input x
    → the cast in line 4 makes an input writable: store to the output, or to memory of your own

outputs.who_writes_to_host_memory
    run() has changed the input x in host memory
    → look for what writes there: a copy from the GPU, a line of the host file, or a kernel that works on host
      memory itself

outputs.const_inputs
    the kernel overwrote its input x
    → declare inputs as const pointers; the compiler then finds the line that writes

techniques.what_limits_the_warps
    occupancy is 0.25; this step asks for at least 0.5. Too few warps.
    → use less shared memory; `grade device` shows what limits it

techniques.what_stands_in_the_way
    occupancy is 0.25; this step asks for at least 0.5. Too few warps. It waits.
    → wait less

techniques.loop_that_cannot_be_unrolled
    occupancy is 0.25; this step asks for at least 0.5. Too few warps.
    → the loop in line 3 ends at `n`, which is known only at run time, so it cannot be unrolled, and v cannot be
      in registers: keep the bound constant and put the condition inside

techniques.hint_of_the_expectation
    occupancy is 0.25; this step asks for at least 0.5. Too few warps.
    → use less shared memory

techniques.let_a_kernel_compute
    the host computed 2 MiB of `y` by itself: no kernel computed these values
    → let a kernel compute it, not NumPy

techniques.let_an_output_need_it
    12 of the 16 mma instructions change no output; wmma instructions is 0.25 without them, and this step asks
    for at least 1. Too few.
    → with other values in place of what they load, store or compute, the outputs stay the same: make the
      outputs of these values, or leave the instructions out

techniques.the_same_at_every_size
    at n=9000 sector efficiency is 0.125, although it is 1 at n=10000; this step asks for at least 0.9. Too low.
    → the kernel or its launch line works in another way at this size: use the technique at every size

techniques.launch_a_kernel
    run() launched no kernel: the host computed the answer by itself
    → let a kernel compute it, not NumPy

answers.one_answer
    the results are right, but 2 comments `// bug: LINE` say different things
    → leave one comment with the answer, and take the others out

answers.one_number
    the results are right, but the answer after `// bug:` is not one line number
    → leave one comment `// bug: LINE` with one number, the line where the wrong thing is done or the missing
      one should stand

answers.given_kernel
    the kernel is not the one that was handed out, about which the answers are
    → bring the stub's lines back, and change the answers alone; try changes in a copy, with `--file`

answers.words_of_limits
    the answer after `// bound:` is none of the words memory, shared
    → write one of these words; the statement says what each means

answers.times_by_counters
    `memory` is not what limits this kernel: by its counters something else takes longer
    → divide each counter of the report by what the device serves of it in a clock: the statement has both, and
      the longest time is the limit

answers.a_number
    the answer after `// predict:` is not a number
    → write a number such as `// predict: 12.5`

answers.one_request_at_a_time
    with CHANGED defined, the count of sectors_per_request is not 8
    → take one request of one warp in the changed code, and write down the addresses of its lanes

answers.instructions_of_one_warp
    with CHANGED defined, the count of shuffles is not 8
    → take one warp through the changed code: which statements does this counter count, and how often does the
      warp execute each?

answers.numbers_of_the_stub
    the kernel is right, but `// bug: 99` names no line of the stub, which has 1 to 61
    → count in the stub as you got it, not in your file, which has other lines by now: in another folder, `grade
      start` copies the stub again

answers.what_the_change_replaced
    the kernel is right, but the stub's bug is not in its line 12
    → which line of the stub does the wrong thing, or beside which one is something missing? Compare your change
      with the stub, and count the stub's lines. A line that only suffers from the bug, because it reads a wrong
      value or waits in vain, is not its place

answers.name_the_line
    the results are right, but the file has no answer `// bug: LINE`
    → write the line's number in the comment `// bug: ?` of your file: the line of the stub as you got it where
      the wrong thing is done, or beside which the missing one should stand

answers.fill_the_answer
    the results are right, but the file has no answer `// bound: WORD`
    → replace the question mark, and what stands behind it, by your answer
""")
