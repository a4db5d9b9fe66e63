import pytest
from pydantic import ValidationError

from optsched.families.bot.instance import Application, BotInstance, Link


def link(a, b, forward=10.0, backward=None):
    return Link(a=a, b=b, forward=forward, backward=forward if backward is None else backward)


def app(master=0, **changes):
    return Application(**({"master": master, "flop": 2.0, "bytes": 1.0} | changes))


def instance(**changes):
    data = {
        "speed": (4.0, 6.0, 0.0),
        "links": (link(0, 1), link(1, 2)),
        "applications": (app(), app(2)),
    }
    return BotInstance(**(data | changes))


def test_pairs_need_speed_permission_and_an_open_route():
    inst = instance()
    assert inst.present.tolist() == [[True, True, False], [True, True, False]]
    assert instance(applications=(app(allowed=(1, 2)),)).present.tolist() == [[False, True, False]]
    one_way = instance(links=(link(0, 1, 0.0, 10.0), link(1, 2)))
    assert one_way.present.tolist() == [[True, False, False], [True, True, False]]
    # data that come back need the other direction as well
    back = instance(
        links=(link(0, 1, 10.0, 0.0), link(1, 2)), applications=(app(return_bytes=1.0),)
    )
    assert back.present.tolist() == [[True, False, False]]


def test_routes_of_a_tree_are_its_only_paths():
    way = instance().deployments[1]
    assert way.order.tolist() == [2, 1, 0]
    assert way.before.tolist() == [1, 2, -1]
    assert way.arc.tolist() == [1, 3, -1]  # arcs 2l + 1 lead from b to a


def test_given_routes_on_a_cycle():
    ring = {
        "speed": (1.0, 1.0, 1.0),
        "links": (link(0, 1), link(1, 2), link(2, 0)),
        "applications": (app(),),
    }
    inst = BotInstance(**ring, routes=((-1, 2, 0),))
    assert inst.deployments[0].order.tolist() == [0, 2, 1]
    assert inst.deployments[0].arc.tolist() == [-1, 3, 5]
    partly = BotInstance(**ring, routes=((-1, 0, -1),))
    assert partly.present.tolist() == [[True, True, False]]
    with pytest.raises(
        ValidationError, match=r"has cycles .3 links between 3 nodes., expected rout"
    ):
        BotInstance(**ring)
    with pytest.raises(ValidationError, match="route to node 1 does not come from the master 0"):
        BotInstance(**ring, routes=((-1, 2, 1),))
    with pytest.raises(
        ValidationError, match=r"0 comes before the master 0|1 comes before the mast"
    ):
        BotInstance(**ring, routes=((1, 2, 0),))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": (link(0, 1),)}, "node 2 cannot be reached from node 0"),
        (
            {"links": (link(0, 1), link(1, 3))},
            r"links\[1\]: node 3 does not exist, expected 0\.\.2",
        ),
        ({"links": (link(0, 0), link(1, 2))}, r"links\[0\]: joins node 0 to itself"),
        (
            {"links": (link(0, 1), link(1, 0))},
            r"links\[1\]: joins nodes 0 and 1 as links\[0\] does",
        ),
        ({"applications": (app(5),)}, r"application 0: master 5 does not exist, expected 0\.\.2"),
        ({"applications": (app(allowed=(7,)),)}, "application 0: allowed node 7 does not exist"),
        ({"applications": (app(), app(allowed=(2,)))}, "application 1: no node can run its tasks"),
        ({"speed": (1.0, -1.0, 1.0)}, "greater than or equal to 0"),
        ({"names": ("a",)}, "names has 1 entries, expected one per node: 3"),
        ({"applications": ()}, "at least 1 item"),
        ({"routes": ((-1, 0, 1),)}, "routes has 1 entries, expected one per application: 2"),
        ({"speed": (1.0, 1e-31, 1.0)}, r"1e-31 is too small, expected 0 or at least 1e-30"),
        ({"speed": (1.0, 1e31, 1.0)}, "less than or equal to 1000000"),
        ({"alpha": 1 + 1e-12}, "is too near to 1, expected 1 or at least 1e-06 from it"),
        ({"alpha": 1 - 1e-7}, "is too near to 1, expected 1 or at least 1e-06 from it"),
        (
            {"alpha": 100.0, "speed": (2e-5, 0.0, 0.0)},
            r"alpha is 100.0, and rates of about 5e-06 tasks/s have utilities of about 10\^523",
        ),
        (
            {
                "alpha": 50.0,
                "speed": (0.0, 1e10, 0.0),
                "links": (link(0, 1, 1e12), link(1, 2, 1e12)),
            },
            r"alpha is 50.0, and rates of about 3e\+09 tasks/s have utilities of about 10\^-462",
        ),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValidationError, match=message):
        instance(**changes)


def test_the_nearest_alphas_to_1_are_taken():
    for alpha in (0.999999, 1.000001, 1.0, 1e-300, 100.0):
        assert instance(alpha=alpha).alpha == alpha


def test_round_trip_and_public_part():
    inst = instance(alpha="inf")
    assert BotInstance.model_validate_json(inst.model_dump_json()) == inst
    assert "applications" not in inst.platform().model_dump()
