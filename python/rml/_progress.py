"""A progress bar for a training: that of tqdm, which notebooks draw, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._train import Batch, Epoch, TrainInfo


def tqdm() -> Any:
    """The bar of tqdm."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError as why:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from why
    return tqdm


class _Bar:
    """A bar with a step for each epoch or report, which shows the metrics so far."""

    def __init__(self) -> None:
        self._tqdm = tqdm()
        self._bar: Any = None

    def begin(self, info: TrainInfo) -> None:
        unit = "report" if info.epochs is None else "epoch"
        self._bar = self._tqdm(total=info.epochs, initial=info.epochs_done, unit=unit)

    def batch(self, batch: Batch) -> None:
        if self._bar is not None:
            said = "".join(f", {name} {value:.4g}" for name, value in batch.metrics.items())
            self._bar.set_postfix_str(f"{batch.windows}/{batch.of} windows{said}", refresh=False)
            self._bar.update(0)

    def epoch(self, epoch: Epoch) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(metrics(epoch), refresh=False)
            self._bar.update(1)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()


def metrics(epoch: Epoch) -> str:
    """The metrics of an epoch, named as the command line names them."""
    parts = (("", epoch.train), ("validation ", epoch.validation), ("test ", epoch.test))
    return ", ".join(f"{prefix}{name} {value:.4g}" for prefix, part in parts for name, value in part.items())
