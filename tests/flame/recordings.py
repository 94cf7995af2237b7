# Recordings made up for pictures, as the text that `cprof script` prints.
"""What a picture of them must show is worked out from `cprof flame --folded`, see Folded."""

HEADER = """\
!header session_id=000102030405060708090a0b0c0d0e0f t0_ns=1000000000 wall_t0_ns=1764550000123456789 cpus=1 target=40 adapter="sched" adapter="app" adapter="sample"
!stream id=0 name=edge.cpu0
!stream id=1 name=app.40.0
!stream id=2 name=context.cpu0
!stream id=3 name=recorder
"""
SYMBOL_BYTES = 16

# Each would act where it is not text.
EVIL_NAMES = [
    "</title><script>window.acted = 1</script>",
    "\\\" onload=\\\"window.acted = 2\\\" x=\\\"",
    "]]><script>window.acted = 3</script>",
    "<image href=x onerror='window.acted = 4'/>",
    "</script><script>window.acted = 5</script>",
    "&lt;b&gt; &amp; <!-- ",
    "javascript:window.acted = 6",
    "\\\\u003cscript\\\\u003ewindow.acted = 7",
]


def quoted(name):
    return name.replace("\\\\", "\\").replace('\\"', '"')


def evil():
    """Requests, threads and kernel functions of evil names."""
    lines = [HEADER]
    for i, name in enumerate(EVIL_NAMES):
        lines.append(f'!ksym offset={SYMBOL_BYTES * (i + 1):#x} name="{name}"\n')
    lines.append("1.000000000 recorder.0 0/0@0 task recorder:gate open=1\n")
    lines.append('1.000000001 recorder.1 0/0@0 task recorder:thread thread=42/40@900 '
                 'comm="</text><script"\n')
    lines.append("1.000100000 edge.cpu0.0 0/0@0 task sched:switch thread=42/40@900\n")
    lines.append("1.000100001 edge.cpu0.1 0/0@0 task sched:runtime thread=42/40@900 "
                 "runtime_ns=5000000\n")
    for i, name in enumerate(EVIL_NAMES):
        begin = 1_001_000_000 + i * 10_000_000
        node = f'id={i + 1:#x} kind=request'
        domain = 'domain="<b onclick=\'window.acted = 8\'>"'

        def at(offset):
            return f"{(begin + offset) / 1e9:.9f}"
        lines.append(f'{at(0)} app.40.0.{4 * i} 42/40@900 task app:begin {node} name="{name}" {domain}\n')
        lines.append(f'{at(100)} app.40.0.{4 * i + 1} 42/40@900 task app:enter {node} {domain}\n')
        lines.append(f'!sample {at(1000)} context.cpu0.{i} 42/40@900 task sample:cpu '
                     f'weight_ns=1000000 user_frames=0 kernel_frames={i + 1} p=1 kernel='
                     + ",".join(f"{SYMBOL_BYTES * (k + 1) + 8:#x}" for k in range(i + 1)) + "\n")
        lines.append(f'{at(9_000_000)} app.40.0.{4 * i + 2} 42/40@900 task app:leave {node} {domain}\n')
        lines.append(f'{at(9_000_100)} app.40.0.{4 * i + 3} 42/40@900 task app:end {node} {domain}\n')
    lines.append("1.090000000 edge.cpu0.2 0/0@0 task sched:runtime thread=42/40@900 "
                 "runtime_ns=94900000\n")
    lines.append("1.900000000 recorder.2 0/0@0 task recorder:gate\n")
    return "".join(lines)


def crowd(outer=100, inner=30, leaves=33):
    """Stacks of three kernel functions each, no name twice: outer * (1 + inner * (1 + leaves))."""
    lines = [HEADER]
    count = outer * (1 + inner * (1 + leaves))
    for i in range(count):
        lines.append(f'!ksym offset={SYMBOL_BYTES * (i + 1):#x} name="f{i}"\n')
    lines.append("1.000000000 recorder.0 0/0@0 task recorder:gate open=1\n")
    lines.append('1.000000001 recorder.1 0/0@0 task recorder:thread thread=42/40@900 comm="crowd"\n')
    sample = 0
    number = 0

    def address(i):
        return f"{SYMBOL_BYTES * (i + 1) + 8:#x}"
    for _ in range(outer):
        a, number = number, number + 1
        for _ in range(inner):
            b, number = number, number + 1
            for _ in range(leaves):
                c, number = number, number + 1
                lines.append(f'!sample {1.001 + sample * 1e-6:.9f} context.cpu0.{sample} 42/40@900 '
                             f'task sample:cpu weight_ns={900 + c % 200} user_frames=0 '
                             f'kernel_frames=3 p=1 kernel={address(c)},{address(b)},{address(a)}\n')
                sample += 1
    lines.append("1.900000000 recorder.2 0/0@0 task recorder:gate\n")
    return "".join(lines), count


class Folded:
    """The tree of `cprof flame --folded`: path -> weight with all that stands on it."""

    def __init__(self, text):
        self.total = {(): 0}
        for line in text.splitlines():
            stack, amount = line.rsplit(" ", 1)
            path = tuple(frame.removesuffix("_[k]") for frame in stack.split(";"))
            for end in range(len(path) + 1):
                self.total[path[:end]] = self.total.get(path[:end], 0) + int(amount)

    def children(self, path):
        """By name, as they are drawn."""
        return sorted(p for p in self.total if len(p) == len(path) + 1 and p[:len(path)] == path)

    def matching(self, matches):
        """How many frames match, and what they weigh, no stack counted twice."""
        found = [p for p in self.total if p and matches(p[-1])]
        weight = sum(self.total[p] for p in found
                     if not any(matches(frame) for frame in p[:-1]))
        return len(found), weight
