"""Ctrl-C during a long computation: the computation ends, and its objects can be used afterwards."""

import os
import subprocess
import sys

import pytest

# A thread simulates the key press. It runs when the next call releases the interpreter's lock to compute. Each call would take minutes.
SCRIPT = """
import os, signal, sys, threading
import numpy as np
import rml

signal.signal(signal.SIGINT, signal.default_int_handler)
# No thread takes the lock from another one.
sys.setswitchinterval(1000.0)

def ends(what, call):
    begins = threading.Event()
    def key():
        begins.wait()
        signal.raise_signal(signal.SIGINT)
    thread = threading.Thread(target=key)
    thread.start()
    try:
        begins.set()
        call()
    except KeyboardInterrupt:
        print(what, "ended", flush=True)
    thread.join()

LONG = '''
node work(x: num []) -> (o: num [])
  a = broadcast([100, 100], x);
  o = sum(tanh(a) * tanh(a + 1.0) * tanh(a + 2.0));

node infer(x: num []) -> (o: num [])
  o = work(x);
'''
x = np.ones(3_000_000, np.float32)

session = rml.compile(LONG, node="work").session()
ends("session.run", lambda: session.run({"x": x}))
fed = session.cycles
assert 0 <= fed < len(x), fed
assert session.step(x=0.0)["o"] is not None and session.cycles == fed + 1

ends("rml.infer", lambda: rml.infer(LONG, {"x": x}))
program = rml.compile(LONG, node="work")
ends("program.run", lambda: program.run({"x": x}))

SQUARES = '''
node f(x: num []) -> (o: num [])
  k = param(ones([1200, 1200]));
  a = matmul(k * x, k);
  o = sum(matmul(matmul(a, a), matmul(a, a)));
'''
ends("rml.grad", lambda: rml.grad(SQUARES, {"x": np.ones(200, np.float32) * 1e-6}, node="f"))
# What cannot end in the middle is not waited for.
os._exit(0)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_control_c_ends_what_computes():
    process = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.split("\n")[:-1] == [f"{what} ended" for what in ("session.run", "rml.infer", "program.run", "rml.grad")]
