"""Parameter spaces of worst-case searches: whether they hold an instance."""

from optsched.numbers.parameter_space import copied, value_at


def is_inside(space, data):
    """Whether all fields are in their ranges, and nothing else differs from what is drawn."""
    first = space.draw(0)
    for part in (space.jobs, *space.others):
        entries = data[part.name]
        fields = [(value_at(e, path), r) for e in entries for path, r in part.fields.items()]
        if not part.least <= len(entries) <= part.most or not all(r.holds(x) for x, r in fields):
            return False
    fixed = all(data[name] == first[name] for name in space.fixed)
    return fixed and space.settle(copied(data)) == data
