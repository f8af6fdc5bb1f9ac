"""Makes sure that every image a benchmark needs is there, and says which ones they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import runner
from runner.errors import ConfigError
from runner.harness.base import ImageLayer
from runner.harness.layer import ensure_agent, ensure_layered
from runner.lab.kit import Kit
from runner.registry.benchmark import Benchmark
from runner.sandbox.baseimage import ensure_base, ensure_trusted
from runner.sandbox.engine import Engine
from runner.sandbox.images import Image, ImageSpec, ensure, find_image
from runner.schema.entry import ImageBuild
from runner.schema.run import ImageUse

Log = Callable[[str], None]


def images_folder() -> Path:
    """The runner's own Dockerfiles: beside the package in a checkout, inside it when installed."""
    package = Path(runner.__file__).parent
    for folder in (package / "_images", package.parent / "images"):
        if folder.is_dir():
            return folder
    raise ConfigError("the runner's Dockerfiles are missing", "install it again, or run it from its checkout")


def prepare_kit(engine: Engine, benchmark: Benchmark, log: Log, *, image: str | None = None) -> Kit:
    """Build what is not there yet; unchanged content builds nothing. ``image``: an image of the engine's to use in the
    place of the benchmark's own. Raises BuildError, and ConfigError for an ``image`` that is not there.
    """
    folder = images_folder()
    base = ensure_base(engine, log=log)
    images = {"base": ImageUse(tag=base.tag, id=base.id, source=f"{base.source}: {base.detail}")}

    def build(role: str, name: str, context: Path, parent: str, spec: ImageBuild | None = None) -> Image:
        made = ensure(
            engine,
            ImageSpec(
                name=name,
                context=context,
                dockerfile=spec.dockerfile if spec else "Dockerfile",
                parents={"PARENT": parent},
                target=spec.target if spec else None,
            ),
            log=log,
        )
        images[role] = ImageUse(tag=made.tag, id=made.id)
        return made

    build("trusted", "bench/trusted", folder / "trusted", base.tag)
    own = benchmark.entry.image
    if image:
        found = find_image(engine, image)
        if found is None:
            raise ConfigError(f"the engine has no image {image!r}", f"docker pull {image}, or build it")
        images["benchmark"] = ImageUse(tag=image, id=found)
    elif own:
        build("benchmark", f"bench/{benchmark.id}", benchmark.path(own.context), base.tag, own)
    else:
        images["benchmark"] = images["base"]
    criterion = benchmark.entry.criterion
    if criterion and criterion.image:
        parent = images["benchmark"].tag
        build("criterion", f"bench/{benchmark.id}-criterion", benchmark.path(criterion.image.context), parent,
              criterion.image)  # fmt: skip
    database = benchmark.entry.services.database
    if database:
        postgres = build("postgres", "bench/postgres", folder / "postgres", base.tag)
        context = benchmark.path(database.image.context)
        build("database", f"bench/{benchmark.id}-database", context, postgres.tag, database.image)
    return Kit(engine=engine, benchmark=benchmark, images=images)


def add_agent(kit: Kit, layer: ImageLayer, log: Log) -> Kit:
    """The kit with the agent's program laid onto the contestant's image; built once per agent and benchmark."""
    agent = ensure_agent(kit.engine, layer, images_folder(), kit.images["base"].tag, log=log)
    laid = ensure_layered(kit.engine, layer, agent, kit.images["benchmark"].tag, log=log)
    images = {
        **kit.images,
        "agent": ImageUse(tag=agent.tag, id=agent.id),
        "contestant": ImageUse(tag=laid.tag, id=laid.id),
    }
    return replace(kit, images=images)


def agent_image(engine: Engine, layer: ImageLayer, log: Log) -> tuple[str, str]:
    """An agent on the bare base image, and the trusted image: for looking at the agent without a benchmark."""
    base = ensure_base(engine, log=log)
    agent = ensure_agent(engine, layer, images_folder(), base.tag, log=log)
    laid = ensure_layered(engine, layer, agent, base.tag, log=log)
    return laid.tag, ensure_trusted(engine, base, log=log).tag
