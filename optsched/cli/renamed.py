"""Old names of commands and options: they still work, with a warning."""

from collections.abc import Sequence

from optsched.process.messages import notify

RENAMED = {
    "hunt": "worst-case",
    "campaign --policy": "--allow",
    "--as-is": "--no-scaling",
    "--box": "--preset",
    "--earns": "--min-alg-fraction",
    "--effort": "--work-limit",
    "--fresh": "--no-cache",
    "--keep-rows": "--ignore-code-version",
    "--sealed": "--sandbox",
    "--share": "--min-opt-fraction",
    "--slot": "--slot-length",
    "--slots": "--horizon",
}


def renamed(args: Sequence[str]) -> list[str]:
    """Return the arguments with today's names; warn once of each old one."""
    found = list(args)
    for i, arg in enumerate(args):
        if arg == "--":  # no options after this
            break
        name, equals, value = arg.partition("=")
        new = RENAMED.get(f"{args[0]} {name}") or RENAMED.get(name)
        if new and (i == 0 or name.startswith("--")):
            found[i] = new + equals + value
            notify(f"warning: {name} is deprecated, use {new}")
    return found
