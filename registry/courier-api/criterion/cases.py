# courier-api-canary-5b0d1f0e-7c55-4e0a-9a4e-2d6b7c1f93a8
"""The hidden cases. Each states one sentence of the acceptance criteria and needs nothing of another."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from browser import Browser
from client import Broken, Change, Client, OpenUpload, Row, exactly_once, expect, scan
from stage import SETTLE_S, Stage, ways

BOARD_S = 30.0
T = TypeVar("T")


def paging(stage: Stage) -> None:
    """Whatever the page size, one upload's changes come exactly once and in order."""
    client = stage.client
    references = stage.book("PAGE", 40)
    cursor = client.cursor()
    rows, wanted = ways(references, "collected", "at_depot")
    hand = stage.handheld()
    hand.send(*rows)
    hand.finish()
    for limit in (None, 1, 7, 25, 79, 80, 200):
        exactly_once(client.follow(cursor, limit)[0], wanted, f"page size {limit or 'as the board'}")


def upload_under_way(stage: Stage) -> None:
    """An upload that was under way while others were followed is not lost."""
    client = stage.client
    slow, quick = stage.book("SLOW", 3), stage.book("QUICK", 3)
    cursor = client.cursor()
    rows, wanted = ways(slow, "collected")
    slow_van = stage.open_upload(*rows[:2])
    # Whether these are answered before the upload ends is another case's question.
    singles = [threading.Thread(target=_try_scan, args=(client, row)) for row in ways(quick, "collected")[0]]
    seen: list[Change] = []
    for single in singles:
        single.start()
        single.join(1.0)
        more, cursor = client.follow(cursor)
        seen += more
    slow_van.send(rows[2])
    expect(slow_van.finish() == 201, "an upload was refused")
    for single in singles:
        single.join(10.0)
    seen += client.follow(cursor)[0]
    exactly_once(seen, wanted + ways(quick, "collected")[1], "a board that followed all along")


def scan_beside_upload(stage: Stage) -> None:
    """A scan is answered, and on the next poll, while another handheld's upload is open."""
    client = stage.client
    slow, quick = stage.book("BESIDE", 2), stage.book("ANSWERED", 3)
    cursor = client.cursor()
    slow_van = stage.open_upload(scan(slow[0], "collected", "b-1"))
    try:
        for reference in quick:
            client.scan(scan(reference, "collected", "q-1"))
            seen, cursor = client.follow(cursor)
            expect((reference, "collected") in seen, "an answered scan is not on the next poll")
    finally:
        slow_van.drop()


def many_uploads_open(stage: Stage) -> None:
    """Twenty handhelds that dawdle hold nobody up and lose nothing."""
    client = stage.client
    slow, quick = stage.book("CROWD", 40), stage.book("ALONE", 1)
    cursor = client.cursor()
    uploads = [OpenUpload(stage.server.port) for _ in range(20)]
    try:
        for number, upload in enumerate(uploads):
            upload.send(scan(slow[2 * number], "collected", "c-1"))
        time.sleep(2 * SETTLE_S)
        client.scan(scan(quick[0], "collected", "q-1"))
        seen, cursor = client.follow(cursor)
        expect((quick[0], "collected") in seen, "an answered scan is not on the next poll")
        for number, upload in enumerate(uploads):
            upload.send(scan(slow[2 * number + 1], "collected", "c-1"))
            expect(upload.finish() == 201, "an upload was refused")
    finally:
        for upload in uploads:
            upload.drop()
    seen += client.follow(cursor)[0]
    exactly_once(seen, ways(slow + quick, "collected")[1], "a board that followed all along")


def busy_morning(stage: Stage) -> None:
    """Boards that poll while vans upload and others scan see every change exactly once."""
    client = stage.client
    bulk = [stage.book(f"VAN{van}", 50) for van in range(3)]
    single = [stage.book(f"WALK{walker}", 20) for walker in range(3)]
    start = client.cursor()
    failures: list[str] = []
    done = threading.Event()
    wanted: list[Change] = []

    def guarded(work: Callable[[T], None], subject: T) -> threading.Thread:
        def run() -> None:
            try:
                work(subject)
            except Broken as error:
                failures.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def van(references: list[str]) -> None:
        for status in ("collected", "at_depot", "on_van"):
            expect(client.upload(ways(references, status)[0]) == 201, "an upload was refused")

    def walk(references: list[str]) -> None:
        for status in ("collected", "at_depot"):
            for row in ways(references, status)[0]:
                client.scan(row)

    followed: dict[int, list[Change]] = {25: [], 7: [], 200: []}

    def board(limit: int) -> None:
        cursor = start
        while not done.is_set():
            rows, cursor, _ = client.page(cursor, limit)
            followed[limit] += rows
            time.sleep(0.01)
        followed[limit] += client.follow(cursor, limit)[0]

    writers = [guarded(van, names) for names in bulk]
    writers += [guarded(walk, names) for names in single]
    boards = [guarded(board, limit) for limit in followed]
    for thread in writers:
        thread.join()
    done.set()
    for thread in boards:
        thread.join()
    expect(not failures, failures[0] if failures else "")
    for names in bulk:
        wanted += ways(names, "collected", "at_depot", "on_van")[1]
    for names in single:
        wanted += ways(names, "collected", "at_depot")[1]
    for limit, seen in followed.items():
        exactly_once(seen, wanted, f"a board with pages of {limit}")


def nothing_or_all(stage: Stage) -> None:
    """An upload that breaks off or has a bad line changes nothing, and can be sent again."""
    client = stage.client
    references = stage.book("CUT", 6)
    cursor = client.cursor()
    rows, wanted = ways(references, "collected")
    stage.open_upload(*rows[:4]).drop()
    bad = [*rows[:5], scan(references[5], "delivered", "bad")]
    expect(client.upload(bad) == 409, "a step that is not allowed was not refused")
    seen, cursor = client.follow(cursor)
    exactly_once(seen, [], "after two uploads that failed")
    expect(not [each for each in seen if each[0] in references], "a failed upload shows")
    for reference in references:
        expect(client.get(f"/deliveries/{reference}")["status"] == "booked", "a failed upload stays")
    expect(client.upload(rows) == 201, "the upload could not be sent again")
    expect(client.upload(rows) == 201, "an upload that was sent twice was refused")
    exactly_once(client.follow(cursor)[0], wanted, "the upload that was sent again")


def board_handover(stage: Stage) -> None:
    """A board as it stood, and the changes after its cursor, make the board as it stands."""
    client = stage.client
    references = stage.book("HAND", 60, "AKL")
    boards: list[tuple[dict[str, str], str]] = []
    failures: list[str] = []

    def van() -> None:
        try:
            for status in ("collected", "at_depot", "on_van", "delivered"):
                expect(client.upload(ways(references, status)[0]) == 201, "an upload was refused")
        except Broken as error:
            failures.append(str(error))

    writer = threading.Thread(target=van)
    writer.start()
    while writer.is_alive() or not boards:
        board = client.get("/board?depot=AKL")
        boards.append(({row["reference"]: row["status"] for row in board["deliveries"]}, board["cursor"]))
    writer.join()
    expect(not failures, failures[0] if failures else "")
    now = {row["reference"]: row["status"] for row in client.get("/board?depot=AKL")["deliveries"]}
    expect(all(now[reference] == "delivered" for reference in references), "an upload left no trace")
    for states, cursor in boards[:: max(1, len(boards) // 12)]:
        for reference, status in client.follow(str(cursor))[0]:
            if reference in states:
                states[reference] = status
        expect(states == now, "a board and its changes do not add up to the board")


def restart(stage: Stage) -> None:
    """A cursor outlives the server that gave it out."""
    client = stage.client
    references = stage.book("AGAIN", 30)
    cursor = client.cursor()
    rows, wanted = ways(references, "collected")
    expect(client.upload(rows) == 201, "an upload was refused")
    first, cursor, _ = client.page(cursor, 10)
    stage.server.stop()
    expect(stage.server.start(), "the server did not come up again")
    rows, later = ways(references, "at_depot")
    expect(client.upload(rows) == 201, "an upload was refused")
    exactly_once(first + client.follow(cursor, 10)[0], wanted + later, "over a restart")


def browser_board(stage: Stage) -> None:
    """The page in a real browser ends with the state of every delivery, without a reload."""
    client = stage.client
    slow, bulk, quick = (stage.book(name, size, "HEL") for name, size in (("WA", 4), ("WB", 60), ("WC", 1)))
    with Browser(stage.browser_uid) as browser:
        browser.open(f"{stage.server.url}/?depot=HEL")
        browser.wait_for(f"document.querySelectorAll('#board tbody tr').length >= {65}", BOARD_S)
        # A page that was loaded again loses this mark.
        browser.evaluate("window.openedOnce = true")
        rows, _ = ways(slow, "collected")
        slow_van = stage.open_upload(*rows[:3])
        row = scan(quick[0], "collected", "w-1")
        single = threading.Thread(target=_try_scan, args=(client, row))
        single.start()
        single.join(2.0)
        time.sleep(2.5)  # Two polls of the page.
        slow_van.send(rows[3])
        expect(slow_van.finish() == 201, "an upload was refused")
        single.join(10.0)
        expect(client.upload(ways(bulk, "collected", "at_depot")[0]) == 201, "an upload was refused")
        wanted = dict.fromkeys(slow + quick, "collected") | dict.fromkeys(bulk, "at_depot")
        deadline = time.monotonic() + BOARD_S
        wrong = len(wanted)
        while time.monotonic() < deadline:
            shown = browser.evaluate(
                "Object.fromEntries([...document.querySelectorAll('#board tbody tr')].map((row) =>"
                " [row.cells[0].textContent, row.cells[3].dataset.status]))"
            )
            wrong = sum(shown.get(name) != status for name, status in wanted.items())
            if wrong == 0:
                break
            time.sleep(0.3)
        browser.screenshot(stage.out / "board.png")
        expect(wrong == 0, f"{wrong} of {len(wanted)} rows of the page are out of date")
        expect(browser.evaluate("window.openedOnce") is True, "the page was loaded again")


def _try_scan(client: Client, row: Row) -> None:
    # What became of it shows in the changes and on the page.
    with contextlib.suppress(Broken):
        client.scan(row)


CASES: dict[str, Callable[[Stage], None]] = {
    "changes.paging": paging,
    "changes.upload-under-way": upload_under_way,
    "changes.busy-morning": busy_morning,
    "changes.restart": restart,
    "board.handover": board_handover,
    "board.browser": browser_board,
    "scans.beside-upload": scan_beside_upload,
    "uploads.many-open": many_uploads_open,
    "uploads.nothing-or-all": nothing_or_all,
}
