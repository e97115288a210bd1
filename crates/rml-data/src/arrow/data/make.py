"""Writes the files that the tests read, with pyarrow and polars: `python make.py`."""

import datetime
import json
from pathlib import Path

import polars
import pyarrow as pa
import pyarrow.feather as feather

here = Path(__file__).parent

day = datetime.date(2024, 3, 31)
table = pa.table(
    {
        "b": pa.array([True, None, False, True]),
        "i": pa.array([1, -2, None, 3], pa.int16()),
        "u": pa.array([200, 1, 2, 3], pa.uint8()),
        "h": pa.array([0.5, -2.0, 1.0, 0.25], pa.float16()),
        "x": pa.array([0.5, 0.25, -2.0, None], pa.float32()),
        "d": pa.array([0.1, 0.2, 0.3, 0.4]),
        "word": pa.array(["cat", "dog", None, "a longer text than a view holds"]),
        "kind": pa.array(["low", "high", "low", None]).dictionary_encode(),
        "day": pa.array([day, None, day, day]),
        "time": pa.array([datetime.datetime(2024, 3, 31, 23, 5, 9, 500000)] * 4, pa.timestamp("ns")),
        "vector": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], pa.list_(pa.float32(), 2)),
        "window": pa.array([[[1.0], [2.0]], [[3.0]], [[4.0]], [[5.0], [6.0]]], pa.list_(pa.list_(pa.float64()))),
        "gaps": pa.array([[1, None], [3, 4], [5, 6], [7, 8]], pa.list_(pa.int64())),
        "frame": pa.FixedShapeTensorArray.from_storage(
            pa.fixed_shape_tensor(pa.uint8(), [2, 3]), pa.array([list(range(6))] * 4, pa.list_(pa.uint8(), 6))
        ),
        "nothing": pa.nulls(4),
        "parts": pa.array([{"a": 1, "b": "x"}] * 4),
        "money": pa.array([1, 2, 3, 4]).cast(pa.decimal128(22, 2)),
        "raw": pa.array([b"1"] * 4),
        "after": pa.array([1, 2, 3, 4]),
    }
)
for name, compression in [("plain", "uncompressed"), ("lz4", "lz4"), ("zstd", "zstd")]:
    feather.write_feather(table, here / f"{name}.feather", compression=compression)

# A stream of two batches; the second one adds to the dictionary.
options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
kinds = [pa.array(["low", "high"]), pa.array(["low", "high", "none"])]
batches = [
    pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int8()), kinds[at]), pa.array(xs)], names=["kind", "x"])
    for at, (numbers, xs) in enumerate([([0, 1], [1.0, 2.0]), ([2, 0, 1], [3.0, 4.0, 5.0])])
]
with pa.ipc.new_stream(here / "deltas.arrows", batches[0].schema, options=options) as out:
    for batch in batches:
        out.write_batch(batch)

views = pa.table({"word": table["word"].cast(pa.string_view()), "x": pa.array([1, 2, 3, 4])})
with pa.ipc.new_file(here / "views.arrow", views.schema) as out:
    out.write_table(views)

# polars writes no message for the schema of a file; it is only in the list at the end.
frame = polars.DataFrame({"word": ["cat", None, "a longer text than a view holds"], "x": [1.0, 2.0, None]})
frame.write_ipc(here / "polars.arrow", compression="zstd")

# The library `datasets` writes the names of labels beside the schema.
features = {
    "kind": {"names": ["low", "high", "none"], "_type": "ClassLabel"},
    "tags": {"feature": {"names": ["out", "in"], "_type": "ClassLabel"}, "length": 2, "_type": "Sequence"},
    "other": {"names": ["a", "a"], "_type": "ClassLabel"},
    "x": {"dtype": "float32", "_type": "Value"},
}
schema = pa.schema(
    {"kind": pa.int64(), "tags": pa.list_(pa.int64(), 2), "other": pa.int64(), "x": pa.float32()},
    metadata={"raw": b"\xff", "huggingface": json.dumps({"info": {"features": features}})},
)
labels = {"kind": [1, 0, 1, 0, 1, 0], "tags": [[0, 1]] * 6, "other": [0] * 6, "x": [1.0, -1.0, 2.0, -2.0, 3.0, -3.0]}
with pa.ipc.new_stream(here / "labels.arrow", schema) as out:
    out.write_table(pa.table(labels, schema), max_chunksize=4)
