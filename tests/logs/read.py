"""What TensorBoard reads in a folder of events: `python read.py DIR` prints a JSON object of [step, value] by tag."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1]).Reload()
tags = events.Tags()["scalars"]
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags}))
