"""Builds an agent once, and lays it onto any benchmark's image."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from runner.harness.base import ImageLayer
from runner.sandbox.images import HasClient, Image, ImageSpec, ensure

Log = Callable[[str], None]


def ensure_agent(engine: HasClient, layer: ImageLayer, images: Path, base: str, *, log: Log) -> Image:
    """The agent's own image on the image ``base``; ``images`` is the folder that holds its build context."""
    spec = ImageSpec(layer.name, images / layer.context, layer.dockerfile_name, parents={"PARENT": base})
    return ensure(engine, spec, log=log)


def ensure_layered(engine: HasClient, layer: ImageLayer, agent: Image, parent: str, *, log: Log) -> Image:
    """The benchmark's image ``parent`` with the agent in it; takes a second or two, and no network."""
    name = f"{parent.rpartition(':')[0]}-{layer.suffix}"
    with tempfile.TemporaryDirectory(prefix="bench-layer-") as folder:
        Path(folder, "Dockerfile").write_text(layer.dockerfile(), encoding="utf-8")
        return ensure(engine, ImageSpec(name, Path(folder), parents={"PARENT": parent, "AGENT": agent.tag}), log=log)
