"""A search goes on from what is known: schedules and certificates, judged again."""

import json

import pytest
from independent.cases import MAIN, case
from independent.oasis import FILES, load, optimum, random_instance, schedule
from patience import LONG
from terminal import refused

from optsched import InputError, compare, save_instance, simulate, solve
from optsched.core.optimum import known
from optsched.engine.progress import Progress
from optsched.engine.warm_start import Known, begin
from optsched.families.oasis import FAMILY
from optsched.families.oasis.optimum.priced_search import Portfolio
from optsched.families.oasis.verify import verify
from optsched.process import crash_state
from optsched.results.journal import Journal
from optsched.results.load import load_optimum, load_start
from optsched.results.result import recheck, save_result, save_run, save_schedule

SEEDS = {"oasis": 1, "dmlrs": 1, "completion": 4, "bipartite": 1, "bot": 1}


def drawn(family, seed=None):
    return case(family, MAIN[family], 1.0, SEEDS[family] if seed is None else seed).instance


@pytest.fixture(scope="module")
def closed():
    """Return an instance whose first bound is loose, and its certified optimum."""
    inst = random_instance(6)
    found = solve(inst, time_limit=LONG)
    assert (found.status, found.bound_level) == ("optimal", "certified")
    assert solve(inst, time_limit=0).status == "feasible"
    return inst, found


@pytest.fixture
def folder(tmp_path, closed):
    inst, found = closed
    save_instance(inst, tmp_path / "i.json")
    save_result(tmp_path / "r.json", inst, found)
    save_schedule(tmp_path / "s.json", inst, found.schedule)
    return tmp_path


def damaged(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("family", MAIN)
def test_what_is_known_for_good_is_not_looked_for_again(family):
    inst = drawn(family)
    found = solve(inst, time_limit=LONG)
    again = solve(inst, start=found, time_limit=0)
    assert (again.status, again.bound_level) == ("optimal", "certified")
    assert (again.value, again.schedule) == (found.value, found.schedule)
    assert again.bound == found.bound


def test_a_known_bound_is_the_first_one(closed):
    inst, found = closed
    loose = solve(inst, time_limit=0)
    bound = found.model_copy(update={"schedule": None, "value": None})
    again = solve(inst, method="search", start=bound, time_limit=0)
    assert again.certified_bound == found.bound < loose.certified_bound
    assert again.status == "feasible"
    assert solve(inst, method="search", start=[bound, found.schedule]).status == "optimal"


def test_a_search_starts_from_a_schedule(closed):
    inst, found = closed
    again = solve(inst, method="search", start=found.schedule, time_limit=0)
    assert (again.value, again.schedule) == (found.value, found.schedule)
    assert again.value == pytest.approx(optimum(inst))


def test_a_schedule_that_breaks_the_model_is_refused_with_the_place(folder, call):
    inst, content = load(FILES[1])
    broken = schedule(content["mutants"]["rejected"][0]["schedule"])
    first = verify(inst, broken).violations[0]
    with pytest.raises(InputError, match="a schedule to start from breaks the model; rejected:"):
        solve(inst, start=broken)
    save_instance(inst, folder / "i.json")
    save_schedule(folder / "s.json", inst, broken)
    for command in ("solve", "ratio"):
        outcome = call(command, folder / "i.json", "--start-from", folder / "s.json")
        refused(outcome, "s.json: a schedule", "breaks the model", f"({first.equation})")
        assert first.place in outcome[2]
    with pytest.raises(InputError, match="is of type str, expected OasisSchedule"):
        solve(inst, start="s.json")


def test_files_of_other_instances_are_refused(closed, folder, call):
    inst, found = closed
    other = random_instance(4)
    save_instance(other, folder / "other.json")
    for name in ("r.json", "s.json"):
        outcome = call("solve", folder / "other.json", "--start-from", folder / name)
        refused(outcome, f"{name}: belongs to another instance, expected {other.digest()}")
    with pytest.raises(InputError, match=f"another instance, expected {other.digest()}"):
        solve(other, start=found)
    with pytest.raises(InputError, match=f"another instance, expected {other.digest()}"):
        solve(other, start=known(inst, found))
    disguised = found.model_copy(update={"instance_sha256": other.digest(), "schedule": None})
    with pytest.raises(
        InputError, match=r"a certificate to start from proves nothing: .* instance"
    ):
        solve(other, start=disguised)
    save_instance(drawn("bot"), folder / "bot.json")
    outcome = call("solve", folder / "bot.json", "--start-from", folder / "r.json")
    refused(outcome, "r.json: \"family\" is 'oasis', expected 'bot'")
    with pytest.raises(InputError, match="is of type OasisSchedule, expected BotSchedule"):
        solve(drawn("bot"), start=found.schedule)


def test_nothing_is_taken_from_a_file_at_its_word(closed, folder):
    inst, found = closed

    def lie(content):
        content["optimum"] |= {"value": 2 * found.value, "bound": 0.5, "certified_bound": 0.5}

    start = load_start(damaged(folder / "r.json", lie), inst)
    assert [value for value, _ in start.schedules] == [found.value]
    assert [bound for bound, _ in start.bounds] == [found.bound]


def test_files_of_every_kind_serve(closed, folder, call):
    inst, found = closed
    for name in ("r.json", "s.json"):
        status, out, _ = call(
            *("solve", folder / "i.json", "--start-from", folder / name, "--json"),
            *("--work-limit", 0, "-m", "search", "-o", folder / "out.json"),
        )
        assert status == 0
        assert json.loads(out)["reference"]["value"] == found.value
        again = load_optimum(folder / "out.json")
        assert (again.status == "optimal") == (name == "r.json")
        assert all(check.accepted for check in recheck(folder / "out.json"))
    run = simulate(inst, "fifo")
    save_run(folder / "run.json", inst, run)
    assert [value for value, _ in load_start(folder / "run.json", inst).schedules] == [run.value]


def test_what_a_policy_left_unfinished_is_left_out():
    """A policy may leave a job unfinished: the rest of its run is a schedule of the model."""
    for seed in range(40):
        inst = random_instance(seed)
        run = simulate(inst, "fifo")
        if verify(inst, run.schedule).value is None:
            found = solve(inst, method="search", start=run.schedule, time_limit=0)
            assert found.value >= run.value
            return
    raise AssertionError("no policy left a job unfinished")


def test_an_answer_to_a_narrower_question_bounds_nothing_else():
    inst = drawn("bipartite")
    every, always = (solve(inst, method=m, time_limit=LONG) for m in ("auto", "stationary"))
    assert every.value > always.bound * (1 + 1e-6)
    found = solve(inst, start=always, time_limit=0)
    assert found.value >= always.value  # its schedule is one of all
    assert found.certified_bound >= every.value
    again = solve(inst, method="stationary", start=[every, always], time_limit=0)
    assert (again.value, again.certified_bound) == (always.value, always.bound)


def test_a_comparison_starts_from_what_is_known(closed, folder, call):
    inst, found = closed
    report = compare(inst, ["fifo"], start=found, time_limit=0)
    assert (report.optimum.status, report.optimum.value) == ("optimal", found.value)
    with pytest.raises(InputError, match="expected nothing to start a search from"):
        compare(inst, ["fifo"], optimum=found, start=found)
    args = ("ratio", folder / "i.json", "-p", "fifo", "--start-from", folder / "r.json")
    # a method that would not end shows that none is requested
    status, out, _ = call(*args, "--json", "-m", "search", "--time-limit", 10**6)
    assert status == 0
    assert json.loads(out)["reference"]["status"] == "optimal"
    refused(call(*args, "--optimum", folder / "r.json"), "expected it without --optimum")
    refused(call(*args, "--seeds", 2), "--start-from is about one instance")


def test_what_is_known_is_not_lost_should_the_command_be_killed(closed, folder, monkeypatch):
    inst, found = closed
    monkeypatch.setattr(crash_state, "_board", crash_state.CrashState())
    for start, value in (
        (load_start(folder / "r.json", inst), found.value),
        (Known(inst.digest()), 0),
    ):
        with Journal(inst, folder / "out.json", "auto", start):
            (kept,) = folder.glob(".optsched-*best")
            assert recheck(kept)[0].value == value
            assert (recheck(kept)[0].bound == found.bound) == (value > 0)


def test_an_abandoned_method_writes_nothing_when_the_result_is_there(closed, folder, monkeypatch):
    inst, _ = closed
    monkeypatch.setattr(crash_state, "_board", crash_state.CrashState())
    progress = Progress(FAMILY, inst, time_limit=LONG, gap=0.0)
    begin(progress, Known(inst.digest()), "auto")
    with Journal(inst, folder / "out.json", "auto", Known(inst.digest())) as journal:
        assert list(folder.glob(".optsched-*best"))
    journal.watch(progress)
    assert not list(folder.glob(".optsched-*best"))


def test_a_bound_that_was_checked_on_the_way_is_kept_with_its_certificate(
    closed, folder, monkeypatch
):
    inst, _ = closed
    monkeypatch.setattr(crash_state, "_board", crash_state.CrashState())
    start = Known(inst.digest())
    with Journal(inst, folder / "out.json", "auto", start) as journal:
        (kept,) = folder.glob(".optsched-*best")
        progress = Progress(FAMILY, inst, time_limit=LONG, gap=0.0)
        begin(progress, start, "auto")
        first = progress.bound
        Portfolio(inst, progress, 1, 0).compact_bound()
        assert progress.bound < first
        for confirmed in (False, True):
            if confirmed:
                progress.confirm()
                assert progress.check(progress.certificate()) == progress.checked[1]
            journal._next = 0.0
            journal._known = None
            journal.watch(progress)
            found = load_optimum(kept)
            assert found.bound == pytest.approx(progress.bound)
            assert found.bound_level == ("certified" if confirmed else "claimed")
            proved = recheck(kept)[0].bound
            assert proved == pytest.approx(progress.bound if confirmed else first)
        progress.tighten(progress.bound - 1e-3 * first, progress.certificate)  # states a method
        journal._next = 0.0
        journal.watch(progress)
        found = load_optimum(kept)
        assert (found.bound, found.bound_level) == (progress.bound, "claimed")
        assert recheck(kept)[0].bound == pytest.approx(progress.checked[1])
