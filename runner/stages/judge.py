"""Asks judges, each alone and through the gateway, for a mapping of etalon cases onto a branch's cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runner.errors import ProviderError, UsageError
from runner.gateway.client import Gateway
from runner.schema.mapping import VOTES_NEEDED, CaseMapping, Vote
from runner.scoring.ask import Said
from runner.scoring.branch import Branch
from runner.scoring.judge import check_judges, mapping_prompt, read_vote
from runner.scoring.layers import probe_of
from runner.scoring.panel import answers
from runner.scoring.readers import reader
from runner.scoring.suite import cases_of, folder_cases


def ask_judges(branch: Branch, judges: Sequence[str], gateway: Gateway, tell: Callable[[str], None]) -> CaseMapping:
    """Raises UsageError where there is nothing to ask or too few judges, ProviderError for fewer than three votes."""
    check_judges(judges)
    wanted, found = open_cases(branch)

    def read(name: str, said: Said | ProviderError) -> Vote | None:
        if isinstance(said, ProviderError):
            tell(f"{name}: no answer: {said.what}")
            return None
        vote, why_not = read_vote(said.text, name, list(wanted), list(found))
        tell(f"{name}: {sum(c is not None for c in vote.mapping.values())} of {len(wanted)} mapped"
             if vote else f"{name}: {why_not}")  # fmt: skip
        return vote

    home, run_id = branch.kit.benchmark.home, f"{branch.run_id}-judge"
    with answers(gateway, home, judges, run_id, mapping_prompt(wanted, found), read) as (all_votes, _):
        votes = [vote for vote in all_votes if vote]
    if len(votes) < VOTES_NEEDED:
        raise ProviderError(f"{len(votes)} of {len(judges)} votes can be used; {VOTES_NEEDED} are needed", "ask again")
    return CaseMapping(votes=votes)


def open_cases(branch: Branch) -> tuple[dict[str, str], dict[str, str]]:
    """Etalon cases that neither a probe nor a name decides, and the branch's cases that are still free, with their
    texts. Raises UsageError where either is empty.
    """
    entry, benchmark = branch.entry, branch.kit.benchmark
    if entry.cases_dir is None:
        raise UsageError(f"{benchmark.id} has no cases_dir")
    files = {name.decode("utf-8", "backslashreplace"): content.decode("utf-8", "replace")
             for name, (_, content) in cases_of(branch.mirror, branch.head, entry.cases_dir).items()}  # fmt: skip
    raw = {name: text.encode() for name, text in files.items()}
    names = [case.name for case in reader(entry.case_reader)(raw, ())]
    hidden = folder_cases(benchmark.path(entry.etalon_dir)) if entry.etalon_dir else {}
    probes = probe_of(benchmark) if entry.probes_dir else {}
    etalon = {name.decode(): content.decode("utf-8", "replace") for name, (_, content) in hidden.items()}
    wanted = {name: etalon.get(name, "") for name in entry.etalon_cases if name not in probes and name not in names}
    taken = {name for name in entry.etalon_cases if name not in probes}
    found = {name: files.get(name, "") for name in names if name not in taken}
    if not wanted or not found:
        raise UsageError(
            "there is nothing to ask: every etalon case is decided by its probe or its name"
            if not wanted
            else "there is nothing to ask: the branch has no case that could be mapped"
        )
    return wanted, found
