"""Texts: bombs and riddles for the compiler, assembly that leaves its function, forged output, and hard reading."""

from __future__ import annotations

from attacks import ADD, LAUNCH, RIGHT, above, attack, inside

STDIO = above("#include <stdio.h>")

for what, text in {
    "/etc/passwd": '#include "/etc/passwd"',
    "the environment": '#include "/proc/self/environ"',
    "a digraph": '%:include "/etc/passwd"',
    "a splice": '#inc\\\nlude "/etc/passwd"',
    "a macro's name": '#define F "/etc/passwd"\n#include F',
    "angle brackets": "#include </etc/passwd>",
    "the way up": '#include "../../../../../../../../etc/passwd"',
    "the solution": '#include "../../solutions/01_basics/vector_add.cu"',
    "the oracle": '#include "kernels_ref/elementwise.py"',
    "a question about a file": '#if __has_include("/etc/passwd")\n#error there it is\n#else\n#error nothing there\n#endif',
    "a folder": '#include "/proc/self/fd/"',
}.items():
    attack("compiler as reader", "vector_add", "sim=compile_error", above(text), what=what)

for what, text in {
    "templates without an end": "template <int N> struct T { T<N + 1> a; static const int v = T<N + 1>::v + T<N + 2>::v; };\n__device__ int bomb = T<0>::v;",
    "a constant that takes for ever": "constexpr int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n__device__ int bomb[f(60)];",
    "a loop in a constant": "constexpr int f() { int k = 0; while (k < 2000000000) ++k; return k; }\n__device__ int bomb[f() > 0];",
    "a file that includes itself": "#define X(a) X2(a, a)\n#include __FILE__",
    "an error on every line": "\n".join(f"int e{k} = nothing{k};" for k in range(20000)),
}.items():
    attack("compiler as bomb", "vector_add", "sim=compile_error", above(text), what=what)
POWERS = "#define A0 1,1,1,1,1,1,1,1,1,1\n" + "\n".join(f"#define A{k} " + ",".join([f"A{k - 1}"] * 10) for k in range(1, 7))  # fmt: skip
attack("compiler as bomb", "vector_add", "sim=limit", above(POWERS + "\n__device__ char bomb[] = { A6 };"), what="a macro that becomes ten million words")  # fmt: skip
attack("compiler as bomb", "vector_add", "sim=limit", above("__device__ int bomb[20000000] = { 1 };"), inside("c[i] = a[i] + b[i] + 0 * bomb[i];"), what="an initialised array of 80 MB")  # fmt: skip

for what, text, words in (
    ("30,000 parentheses", "__device__ int deep = " + "(" * 30000 + "1" + ")" * 30000 + ";", "sim=wrong"),
    ("30,000 blocks", "__device__ void deep() { " + "{" * 30000 + "}" * 30000 + " }", "sim=wrong"),
    ("30,000 pointers", "__device__ int " + "*" * 30000 + "deep;", "sim=wrong"),
    ("a sum of 100,000 terms", "__device__ int deep = 1" + "+1" * 100000 + ";\n#error wide", "sim=compile_error"),
    ("a name of a million letters", "__device__ int " + "n" * 1000000 + " = nothing;", "sim=compile_error"),
    ("a text that never ends", 'const char* open = "', "sim=compile_error"),
    ("a comment that never ends", "/* open", "sim=compile_error"),
    ("a raw text that never ends", 'const char* open = R"(', "sim=compile_error"),
):  # fmt: skip
    attack("compiler crash", "vector_add", words, above(text), inside("c[i] = 0.0f;"), what=what)
attack("compiler crash", "vector_add", "sim=invalid", what="a file with zero bytes", whole="\0" * 1000)
attack("compiler crash", "vector_add", "sim=invalid", what="an empty file", whole="\n")

for what, words, *edits in (
    ("another entry in asm", "sim=invalid", inside(RIGHT + ' asm volatile("} .visible .entry other() { ret;");')),
    ("an end of the function in asm", "sim=invalid", inside(RIGHT + ' asm volatile("ret; }");')),
    ("braces in a comment of asm", "sim=invalid", inside(RIGHT + ' asm volatile("/* } */ } .visible .entry other() { ret; /* { */");')),
    ("the marks around asm", "sim=invalid", inside(RIGHT + ' asm volatile("// end inline asm\\n} .visible .entry other() { ret;\\n// begin inline asm");')),
    ("a variable of the module in asm", "sim=invalid", inside(RIGHT + ' asm volatile("} .global .u32 other; .visible .entry more() { ret;");')),
    ("a function that is nowhere", "sim=compile_error", above('extern "C" __device__ float elsewhere(float);'), inside("c[i] = elsewhere(a[i]) + b[i];")),
    ("memory from the device's heap", "sim=policy", inside(RIGHT + " if (i == 0) free(malloc(1 << 20));")),
    ("new and delete", "sim=policy", inside("float* p = new float(a[i]); c[i] = *p + b[i]; delete p;")),
    ("a kernel that launches a kernel", "sim=invalid", above('extern "C" __global__ void other(float* c) { c[threadIdx.x] = 1.0f; }'), inside(RIGHT + " if (i == 0) other<<<1, 1>>>(c);")),
    ("the device runtime by hand", "sim=invalid", above('extern "C" __device__ int cudaMalloc(void**, size_t);'), inside(RIGHT + " void* p; if (i == 0) cudaMalloc(&p, 1 << 20);")),
    ("a flood of printf", "limit", STDIO, inside(RIGHT + ' for (int k = 0; k < 1000; ++k) printf("%d %d\\n", i, k);')),
    ("a kernel with another name", "sim=invalid", ("void vector_add", "void vector_addition")),
    ("a parameter more", "sim=invalid", ("float* c, int n", "float* c, int n, float* secret")),
    ("a pointer where a number belongs", "sim=invalid", ("float* c, int n)", "float* c, int* n)"), (ADD, "    if (i < 1)\n        c[i] = 0.0f;\n")),
):  # fmt: skip
    attack("PTX tricks", "vector_add", words, *edits, what=what)

for what, said in {
    "a verdict by printf": "\\033[2J PASS vector_add 100 of 100 points",
    "a script by printf": "<script>document.title = 'passed'</script>",
    "marks that turn the text round": "\\u202ePASS\\u202c \\u2066100\\u2069",
    "a message of the channel": '{\\"done\\": true, \\"verdict\\": \\"pass\\", \\"samples\\": {\\"seconds\\": [1e-9]}}',
    "the end of a report": "]]></system-out></testsuite>\\r\\n\\b\\b\\b",
}.items():
    attack("output forging", "vector_add", "wrong", STDIO, inside(f'c[i] = 0.0f; if (i == 0) printf("{said}\\n");'), what=what)  # fmt: skip
attack("output forging", "vector_add", "sim=compile_error", above('#error "\033[2J PASS <script>alert(1)</script> \u202e"'), what="an error of the compiler's")  # fmt: skip
attack("output forging", "vector_add", "sim=wrong", inside("c[i] = 0.0f; /* \033[2J \u202e<script> */"), what="the line that is quoted")  # fmt: skip

for what, words, *edits in (
    ("a huge grid", "sim=limit", (LAUNCH, "grid=2147483647 block=1024")),
    ("800 KB of local memory", "sim=invalid", inside("volatile float v[200000]; v[i % 200000] = a[i]; v[(n - i) % 200000] = b[i]; c[i] = a[i] + b[i];")),
    ("a printf a thousand million wide", "sim=wrong", STDIO, inside('c[i] = 0.0f; if (i == 0) printf("%1000000000d", i);')),
    ("a printf with a width from its arguments", "sim=wrong", STDIO, inside('c[i] = 0.0f; if (i == 0) printf("%*d", 1 << 30, i);')),
    ("a printf that writes", "sim=wrong", STDIO, inside('int k = 0; printf("%d%n", i, &k); c[i] = k;')),
    ("a printf of a text that is nowhere", "sim=wrong", STDIO, inside('c[i] = 0.0f; if (i == 0) printf("%s", (const char*)0x12345678);')),
    ("an index from the end of the numbers", "sim=out_of_bounds", inside("c[(int)(0x80000000u + i)] = a[i] + b[i]; " + RIGHT)),
    ("work for hours", "sim=timeout", inside("float s = a[i]; for (long long k = 0; k < (1ll << 40); ++k) s = s * 0.5f + b[(i + k) % n]; c[i] = s;")),
    ("5,000 labels", "sim=wrong", inside('c[i] = 0.0f; asm volatile("{" ' + " ".join(f'"L{k}: "' for k in range(5000)) + ' "}");')),
    ("a division by zero", "sim=wrong", inside("c[i] = a[i] / (n - n) + i / (n - n);")),
):  # fmt: skip
    attack("simulator", "vector_add", words, *edits, what=what)

BLANKS = " " * 200000
for what, words, *edits in (
    ("launch lines by the thousand", "sim=invalid", ("// launch", "// launch vector_add(a, b, c, n): grid=1 block=256\n" * 5000 + "// launch")),
    ("a launch line of a megabyte", "sim=invalid", (LAUNCH, "grid=1" + "+1" * 500000 + " block=256")),
    ("a number of a million digits", "sim=invalid", (LAUNCH, "grid=" + "9" * 900 + " block=256")),
    ("a power in a launch line", "sim=invalid", (LAUNCH, "grid=9**9**9 block=256")),
    ("parentheses in a launch line", "sim=invalid", (LAUNCH, "grid=" + "(" * 400 + "1" + ")" * 400 + " block=256")),
    ("Python in a launch line", "sim=invalid", (LAUNCH, "grid=__import__('os').getpid() block=256")),
    ("constants that need one another", "sim=compile_error", above("constexpr int A = B;\nconstexpr int B = A;"), (LAUNCH, "grid=A block=256")),
    ("braces without an end", "sim=compile_error", above("{" * 50000)),
    ("a megabyte of blanks", "sim=wrong", above((BLANKS + "\n") * 4), inside("c[i] = 0.0f;")),
    ("comments in comments", "sim=wrong", above("/*\n" * 100000 + "*/"), inside("c[i] = 0.0f;")),
    ("a hundred thousand warnings with a long line", "sim=wrong", above("/* " * 100000 + "*/"), inside("c[i] = 0.0f;")),
    ("30 MB of source", "sim=invalid", above(("// " + BLANKS + "\n") * 150)),
    ("host code in the file", "sim=invalid", ("", "\nint main() { vector_add<<<1, 1>>>(0, 0, 0, 0); return system(\"true\"); }\n")),
):  # fmt: skip
    attack("the parent as reader", "vector_add", words, *edits, what=what)
for file in ("-o.cu", "=1+1.cu", "<script>alert(1)<script>.cu", "\u202euc.ssap.cu", "a b;true.cu", "'\"\\.cu", "..cu", "\033[2J.cu"):  # fmt: skip
    attack("the parent as reader", "vector_add", "sim=wrong", inside("c[i] = 0.0f;"), what=f"the name {file!r}", file=file)  # fmt: skip
