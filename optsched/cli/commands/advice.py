"""`optsched advice`: policies with predictions, as these get worse."""

from typing import Annotated, Any, Literal

import typer

from optsched.cli import options
from optsched.cli.commands.outcome import ending_well, leave, print_result, report_pictures
from optsched.files.atomic_io import writable, writable_folder
from optsched.problem import InputError, is_named_in_file
from optsched.process import messages


@options.with_verbosity
def advice(
    source: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Declared problem (FILE.py:NAME) or instance file."),
    ],
    errors: Annotated[
        str, typer.Option(help="Error rates of the predictions, from 0 to 1.")
    ] = "0,0.1,0.2,0.4,0.8",
    lambdas: Annotated[
        str,
        typer.Option(
            help="Robustness parameters of `guarded`: 0 follows the prediction, 1 the baseline."
        ),
    ] = "0,0.5,1",
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            max=options.MOST,
            help="Number of instances of a problem; for an instance file, of random errors.",
        ),
    ] = 5,
    baseline: Annotated[
        str, typer.Option("--baseline", "-p", help=f"Robust baseline. {options.POLICY_HELP}")
    ] = "re-solve",
    predictions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Predicted instance to which errors are added: a file, or a Python function of "
            "the true instance (FILE.py:NAME).",
            show_default="the true instance",
        ),
    ] = None,
    noise: Annotated[
        Literal["draws", "numbers"] | None,
        typer.Option(help="Errors change random draws of the problem, or single numbers."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Preset (default: the first).")] = None,
    work_limit: Annotated[
        float,
        typer.Option(
            min=0,
            help="Limit of each search for the worst prediction, "
            f"{options.WORK_LIMIT}. 0: no search.",
        ),
    ] = 1000.0,
    output: options.Output = None,
    as_json: options.Json = False,
    plot: options.Pictures = None,
    style: options.Style = "screen",
) -> None:
    """Measure how prediction errors change the ratio.

    `follow` trusts a predicted instance; `guarded` combines this prediction with a robust baseline.
    A prediction is the true instance with errors, either random or adversarial (found by a search
    for the worst case). The command prints the ratio of each policy for each error rate. `optsched
    report` turns the output file into a page.

    Example:  optsched advice parking.py:parking -p parking.py:break_even -o advice.json
    """
    from optsched.adversarial.advice import advice as measure
    from optsched.cli.progress_display import Ticker
    from optsched.files.format import load_instance
    from optsched.process.loading import load_from_file

    if output is not None:
        writable(output)
    folder = plot and writable_folder(plot)
    made: Any
    expected: Any
    made, expected = (
        name and (load_from_file(name, name) if is_named_in_file(name) else load_instance(name))
        for name in (source, predictions)
    )
    with ending_well(), Ticker(f"measuring {source}") as ticker:
        found = measure(
            made,
            _numbers("--errors", errors),
            _numbers("--lambdas", lambdas),
            seeds=seeds,
            baseline=baseline,
            predictions=expected,
            noise=noise,
            preset=preset,
            work_limit=work_limit,
            callback=ticker.show,
        )
    if output is not None:
        found.save(output)
        messages.remark(f"{output} written")
    shown = messages.printable(str(found), shown="\n")
    print_result(found.model_dump(mode="json"), as_json, shown)
    if folder is not None:
        from optsched.drawing import save, styled
        from optsched.pages.advice import figure

        with styled(style):
            report_pictures([save(figure(found), folder / "advice.png")])
    leave(found=True)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text!r}: expected numbers, such as 0,0.1,0.2") from None
