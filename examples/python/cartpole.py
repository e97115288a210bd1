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
after, reward, terminated, truncated, lengths, length = seen, 0.0, False, False, [], 0
for _ in range(int(steps)):
    line = {"seen": seen.tolist(), "reward": reward, "terminated": terminated, "truncated": truncated, "after": after.tolist()}
    print(json.dumps(line), file=agent.stdin, flush=True)
    after, reward, terminated, truncated, _ = environment.step(json.loads(agent.stdout.readline())["push"])
    seen, length = after, length + 1
    if terminated or truncated:
        lengths.append(length)
        length, (seen, _) = 0, environment.reset()
agent.communicate()
print("mean length of the first and the last 20 episodes:", sum(lengths[:20]) / 20, sum(lengths[-20:]) / 20)
