"""The JSON Schemas of every record, for readers that are not ours: ``python -m runner.report.schemas FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import BaseModel


def records() -> dict[str, type[BaseModel]]:
    """Every record that reaches disk, by the name of its schema file."""
    from runner.schema import (
        cassette,
        certificate,
        entry,
        events,
        history,
        identity,
        ledger,
        look,
        manifests,
        mapping,
        review,
        run,
        run_events,
        score,
    )

    return {
        "certificate": certificate.Certificate,
        "entry": entry.Entry,
        "event": events.Event,
        "gate-run": certificate.GateRun,
        "history": history.HistoryRecord,
        "identity": identity.IdentityRecord,
        "ledger": ledger.LedgerLine,
        "lock": run.RunLock,
        "look": look.Look,
        "manifest": run.Manifest,
        "mapping": mapping.CaseMapping,
        "patches": manifests.PatchManifest,
        "reliability": certificate.Reliability,
        "result": run.RunResult,
        "review-import": review.ReviewImport,
        "reviews": review.ReviewRecord,
        "revision": run.Revision,
        "run-event": run_events.RunEvent,
        "score": score.Score,
        "solutions": manifests.SolutionManifest,
        "state": run.State,
        "taped-exchange": cassette.TapedExchange,
    }


def schema_text(model: type[BaseModel]) -> str:
    return json.dumps(model.model_json_schema(by_alias=True), indent=1, sort_keys=True) + "\n"


def main(folder: Path) -> None:
    """Write them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in records().items():
        (folder / f"{name}.json").write_text(schema_text(model), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
