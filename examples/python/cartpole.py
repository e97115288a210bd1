"""The pole of Gymnasium's CartPole-v1 is balanced by `rml train --stream`: what is seen goes in, actions come out.

    python3 cartpole.py rml agent.rml 20000 [more flags of rml train]
"""

import json, subprocess, sys

import gymnasium

rml, program, steps, *flags = sys.argv[1:]
command = [rml, "train", program, "--stream", *flags]
agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
environment = gymnasium.make("CartPole-v1")
seen, _ = environment.reset(seed=0)
reward, ended, lengths, length = 0.0, False, [], 0
for _ in range(int(steps)):
    print(json.dumps({"seen": seen.tolist(), "reward": reward, "ended": ended}), file=agent.stdin, flush=True)
    seen, reward, terminated, truncated, _ = environment.step(json.loads(agent.stdout.readline())["push"])
    length, ended = length + 1, terminated or truncated
    if ended:
        lengths.append(length)
        length, (seen, _) = 0, environment.reset()
agent.communicate()
print("mean length of the first and the last 20 episodes:", sum(lengths[:20]) / 20, sum(lengths[-20:]) / 20)
