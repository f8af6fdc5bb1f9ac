"""``bench``: which coding model should carry a team's development work?"""

from __future__ import annotations

import typer

from runner.cli import doctor, foreign, look, new, rescore, run, space, validate
from runner.cli.entry import run_app
from runner.cli.score import score_app

app = typer.Typer(
    name="bench",
    help="Makes one real develop sprint the benchmark: every contestant gets the same frozen repository, the same plan "
    "and the same rules in its own sealed sandbox; what it commits is scored by checks it cannot touch.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("doctor")(doctor.doctor)
app.command("validate")(validate.validate)
app.command("new")(new.new)
app.command("list")(look.list_runs)
app.command("show")(look.show)
app.command("verify")(look.verify)
app.command("rescore")(rescore.rescore)
app.command("import")(foreign.import_rows)
app.command("checkout")(space.checkout)
app.command("prune")(space.prune)
app.command("sweep")(space.sweep)
app.add_typer(score_app, name="score")


@app.callback(invoke_without_command=True)
def _top(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from runner import __version__

        typer.echo(__version__)
        raise typer.Exit(0)


def main() -> None:
    """Entry point of ``bench``."""
    run_app("bench", app)


if __name__ == "__main__":
    main()
