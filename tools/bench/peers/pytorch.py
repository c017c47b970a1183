# tools/bench/peers/pytorch.py - PyTorch as a peer of `philox bench`
#
# It is not called torch.py: a script imports from its own folder first.
#
# Started by tools/bench/torch.c with a device ("cpu", "cuda:0") and a number of
# threads. It describes itself in one line, then answers each line of standard
# input with one:
#
#   fill DIST DTYPE BYTES TIMES    ok CALL WHOLE
#   replay STATES TIMES            ok CALL WHOLE
#   tokens ROWS VOCABULARY TIMES   ok CALL WHOLE
#   filtered ROWS VOCABULARY TIMES ok CALL WHOLE
#   logprobs ROWS VOCABULARY TIMES ok CALL WHOLE
#   penalised ROWS VOCABULARY TIMES ok CALL WHOLE
#   convert FORMAT ELEMENTS TIMES  ok CALL WHOLE
#
# in nanoseconds of all repetitions, until the calls had returned and until the
# work was done; or "error ..." and why. Lines of its own that begin otherwise
# are not part of an answer.
import sys
import time

try:
    import torch

    device = torch.device(sys.argv[1])
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(device)
        torch.cuda.synchronize(device)
    torch.set_num_threads(int(sys.argv[2]))
    DTYPES = {
        "f32": (torch.float32, 4),
        "f64": (torch.float64, 8),
        "f16": (torch.float16, 2),
        "bf16": (torch.bfloat16, 2),
        "i32": (torch.int32, 4),
        "i64": (torch.int64, 8),
    }
    print("ok torch", torch.__version__, flush=True)
except Exception as error:  # whatever an installation raises
    print("error no torch:", " ".join(str(error).split()), flush=True)
    sys.exit()

# Each writes `out`, except dropout, which has its own output (and, on a GPU,
# mask)
FILLS = {
    "integers": lambda x, out: out.random_(0, 1000),
    "uniform": lambda x, out: torch.rand(out.numel(), out=out),
    "normal": lambda x, out: torch.randn(out.numel(), out=out),
    "log-normal": lambda x, out: out.log_normal_(0, 1),
    "exponential": lambda x, out: out.exponential_(1),
    "bernoulli": lambda x, out: out.bernoulli_(0.5),
    "dropout": lambda x, out: torch.nn.functional.dropout(x, 0.5, True),
}


def wait():
    if on_gpu:
        torch.cuda.synchronize(device)


class Clock:
    """The time of the calls between start() and stop()."""

    def start(self):
        wait()
        if on_gpu:
            self.events = [torch.cuda.Event(enable_timing=True) for _ in "ab"]
            self.events[0].record()
        self.started = time.perf_counter_ns()

    def stop(self, by_events):
        call = time.perf_counter_ns() - self.started
        if on_gpu:
            self.events[1].record()
        wait()
        whole = time.perf_counter_ns() - self.started
        if on_gpu and by_events:
            whole = self.events[0].elapsed_time(self.events[1]) * 1e6
        return call, whole


arrays = {}


def array(dtype, size):
    """An input and an output; of one kind and size at a time."""
    if (dtype, size) not in arrays:
        arrays.clear()
        if on_gpu:
            torch.cuda.empty_cache()
        kind, bytes_each = DTYPES[dtype]
        made = [
            torch.full((size // bytes_each,), 1, dtype=kind, device=device)
            for _ in range(2)
        ]
        arrays[dtype, size] = made
    return arrays[dtype, size]


def fill(dist, dtype, size, times):
    work = FILLS[dist]
    x, out = array(dtype, int(size))
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        work(x, out)
    return clock.stop(True)


graphs = {}


def capture(count):
    """A graph of `count` draws of 16 elements, each from its own generator."""
    generators = [torch.Generator(device=device) for _ in range(count)]
    outs = [torch.empty(16, device=device) for _ in range(count)]
    graph = torch.cuda.CUDAGraph()
    for seed, generator in enumerate(generators):
        generator.manual_seed(seed)
        graph.register_generator_state(generator)

    def draw():
        for out, generator in zip(outs, generators):
            out.uniform_(generator=generator)

    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        draw()
    torch.cuda.current_stream(device).wait_stream(side)
    wait()
    with torch.cuda.graph(graph):
        draw()
    return graph, generators, outs


def replay(count, times):
    count = int(count)
    if count not in graphs:
        graphs[count] = capture(count)
    graph = graphs[count][0]
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        graph.replay()
    return clock.stop(False)


def tokens(rows, vocabulary, times):
    logits = torch.randn(int(rows), int(vocabulary), device=device)
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        torch.softmax(logits / 0.8, -1).multinomial(1)
    return clock.stop(False)


def filtered(rows, vocabulary, times):
    logits = torch.randn(int(rows), int(vocabulary), device=device)
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        values, ids = torch.topk(logits / 0.8, 50)
        shares = torch.softmax(values, -1)
        shares[shares.cumsum(-1) - shares >= 0.9] = 0
        ids.gather(-1, shares.multinomial(1))
    return clock.stop(False)


def logprobs(rows, vocabulary, times):
    logits = torch.randn(int(rows), int(vocabulary), device=device)
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        raw = torch.log_softmax(logits, -1)
        raw.topk(20)
        raw.gather(-1, torch.softmax(logits / 0.8, -1).multinomial(1))
    return clock.stop(False)


def penalised(rows, vocabulary, times):
    rows, vocabulary = int(rows), int(vocabulary)
    logits = torch.randn(rows, vocabulary, device=device)
    counts = torch.zeros(rows, vocabulary, device=device)
    had = torch.randint(vocabulary, (rows, 500), device=device)
    counts.scatter_add_(1, had, torch.ones(rows, 500, device=device))
    ids = torch.arange(20, device=device) * (vocabulary // 20)
    ids, biases = ids.expand(rows, 20), torch.zeros(rows, 20, device=device)
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        changed = logits.scatter_add(1, ids, biases)
        seen = counts > 0
        penalty = torch.where(changed > 0, changed / 1.1, changed * 1.1)
        changed = torch.where(seen, penalty, changed)
        changed -= 0.1 * counts + 0.2 * seen
        tokens = torch.softmax(changed / 0.8, -1).multinomial(1)
        counts.scatter_add_(1, tokens, torch.ones(rows, 1, device=device))
    return clock.stop(False)


def convert(name, elements, times):
    kind = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[name]
    x, _ = array("bf16", 2 * int(elements))
    out = torch.empty(x.numel(), dtype=kind, device=device)
    clock = Clock()
    clock.start()
    for _ in range(int(times)):
        out.copy_(x)
    return clock.stop(True)


QUESTIONS = {"fill": fill, "replay": replay, "tokens": tokens,
             "filtered": filtered, "logprobs": logprobs,
             "penalised": penalised, "convert": convert}


def answer(line):
    name, *arguments = line.split()
    call, whole = QUESTIONS[name](*arguments)
    return f"ok {call:.0f} {whole:.0f}"


def main():
    for line in sys.stdin:
        try:
            said = answer(line)
        except Exception as error:
            said = f"error {type(error).__name__}: {error}"
        print(" ".join(said.split()), flush=True)


with torch.no_grad():
    main()
