"""The backlog of unfinished jobs."""

from optsched.scheduling.online.queues import Backlog, best_first


def test_backlog_keeps_the_order_of_arrival_and_tells_of_changes():
    backlog = Backlog()
    backlog.arrive(4, 3)
    backlog.arrive(1, 2)
    assert (list(backlog), backlog.changed) == ([4, 1], True)
    backlog.settle()
    assert not backlog.work(4, 2)
    assert (backlog.missing[4], backlog.changed) == (1, False)
    assert backlog.work(4, 1)
    assert (list(backlog), backlog.changed) == ([1], True)
    backlog.drop(1)
    assert len(backlog) == 0


def test_equal_scores_keep_their_order():
    assert best_first([1.0, 2.0, 2.0 * (1 + 1e-12), -1.0]) == [1, 2, 0, 3]
    assert best_first([2.0, 2.0 * (1 + 1e-6)]) == [1, 0]
    assert best_first([]) == []
