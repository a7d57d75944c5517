"""The only place that imports Great Expectations (fault 22; 8 s): suites in, verdicts and Data Docs out.

Great Expectations is given real suites, validation definitions and checkpoints, on one small frame per suite: columns
are the tables' own (`questions.answers`), rows are measures, cells a value with its examples. So Data Docs read column
by column. Existence is the library's own expectation; two custom ones on one custom metric look a measure up.

Fault 23 (a gate that crashes on a missing column, or passes because an expectation was left out) is shut out twice: a
missing column or measure reads as null, which satisfies no bound; and verdicts are matched one by one with the declared
checks, so one that raised or vanished counts as not evaluated. The library's own summary is not used.
"""

from __future__ import annotations

import datetime as dt
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pyarrow as pa

os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read while the library is imported
import great_expectations as gx
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.core.expect_column_to_exist import ExpectColumnToExist
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.components import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
)
from great_expectations.render.renderer.renderer import renderer

from faithline.gates.checks import Between, Check, Equals, Exists, Suite
from faithline.gates.outcome import Failure, SuiteOutcome
from faithline.gates.tally import Measured, Profile, show

__all__ = ["Judge"]

_METRIC = "table.measured"
_MEASURE = "measure"
_CHECK = "check"
_NOMINAL_TIME = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""Equal data give equal Data Docs: the time of the run is in the log."""


class Judge:
    """One context of Great Expectations.

    Args:
        docs: Folder for the static site; its entry page is `index.html`.
    """

    def __init__(self, docs: Path) -> None:
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(docs.absolute())}
        index = {"class_name": "DefaultSiteIndexBuilder"}
        site = {"class_name": "SiteBuilder", "site_index_builder": index, "store_backend": store}
        config = DataContextConfig(
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False),
            data_docs_sites={"gates": site},
            store_backend_defaults=InMemoryStoreBackendDefaults(),
        )
        self._context: Any = gx.get_context(mode="ephemeral", project_config=config)
        self._source: Any = self._context.data_sources.add_pandas("prepared")

    def evaluate(self, suites: Sequence[Suite]) -> dict[str, SuiteOutcome]:
        """Judge suites, some 15 ms of CPU time for an expectation.

        Args:
            suites: With names that were not used before.

        Returns:
            Suite name to outcome.
        """
        return {suite.name: _outcome(suite.checks, _validate(self._context, self._source, suite)) for suite in suites}

    def render(self) -> None:
        """Write the Data Docs of all suites judged so far."""
        self._context.build_data_docs()


class MeasuredProvider(TableMetricProvider):
    """Reads one measure of one column from the frame."""

    metric_name = _METRIC
    value_keys = ("column", "measure")

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        **_: object,
    ) -> Measured:
        frame, _domain, _accessor = execution_engine.get_compute_domain(
            metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE
        )
        column = metric_value_kwargs["column"]
        if column not in frame.columns:
            return Measured(None)
        cells = frame.loc[frame[_MEASURE] == metric_value_kwargs["measure"], column]
        known = len(cells) == 1 and isinstance(cells.iloc[0], str)
        return msgspec.json.decode(cells.iloc[0], type=Measured) if known else Measured(None)


class _ExpectMeasure(BatchExpectation, ABC):
    """What the custom expectations share: the metric, and how they read in Data Docs."""

    column: str
    measure: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (_METRIC,)

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: object
    ) -> list[RenderedStringTemplateContent]:
        arguments = (configuration or result.expectation_config).kwargs
        bare = runtime_configuration is not None and runtime_configuration.get("include_column_name") is False
        template = "$measure: must be $limit" if bare else "$column: $measure: must be $limit"
        words = {"column": arguments["column"], "measure": arguments["measure"], "limit": cls._limit(arguments)}
        content = {"template": template, "params": words}
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=content)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls,
        configuration: Any = None,  # noqa: ARG003
        result: Any = None,
        runtime_configuration: Any = None,  # noqa: ARG003
    ) -> str:
        found = _measured(result)
        examples = f" (e.g. {', '.join(found.examples)})" if found.examples else ""
        return f"{show(found.value)}{examples}"

    @classmethod
    def _limit(cls, arguments: dict[str, Any]) -> str:
        """Return what is demanded, for Data Docs."""
        return str(arguments["expected"])

    @abstractmethod
    def _holds(self, value: float | str | None) -> bool:
        """Judge the measured value; None = nothing was measured."""

    def _validate(
        self,
        metrics: dict[Any, Any],
        runtime_configuration: dict[Any, Any] | None = None,  # noqa: ARG002
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        found: Measured = metrics[_METRIC]
        observed = {"observed_value": found.value, "details": {"examples": list(found.examples)}}
        return {"success": self._holds(found.value), "result": observed}


class ExpectMeasureToBeBetween(_ExpectMeasure):
    """A measure of a column lies within bounds, both allowed."""

    min_value: float | None = None
    max_value: float | None = None

    success_keys: ClassVar[tuple[str, ...]] = ("column", "measure", "min_value", "max_value")

    def _holds(self, value: float | str | None) -> bool:
        low = float("-inf") if self.min_value is None else self.min_value
        high = float("inf") if self.max_value is None else self.max_value
        return isinstance(value, (int, float)) and low <= value <= high

    @classmethod
    def _limit(cls, arguments: dict[str, Any]) -> str:
        return Between("", "", arguments.get("min_value"), arguments.get("max_value")).limit


class ExpectMeasureToEqual(_ExpectMeasure):
    """A measure of a column is a certain text."""

    expected: str

    success_keys: ClassVar[tuple[str, ...]] = ("column", "measure", "expected")

    def _holds(self, value: float | str | None) -> bool:
        return value == self.expected


def _expectation(number: int, check: Check) -> Any:
    meta = {_CHECK: number}
    match check:
        case Exists():
            return ExpectColumnToExist(column=check.column, meta=meta)
        case Equals():
            return ExpectMeasureToEqual(column=check.column, measure=check.measure, expected=check.expected, meta=meta)
        case Between():
            return ExpectMeasureToBeBetween(
                column=check.column, measure=check.measure, min_value=check.least, max_value=check.most, meta=meta
            )


def _validate(context: Any, source: Any, suite: Suite) -> Any:
    """Run one suite through a checkpoint of its own, for a checkpoint takes one frame."""
    batch = source.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe("whole")
    expectations = [_expectation(number, check) for number, check in enumerate(suite.checks)]
    declared = context.suites.add(gx.ExpectationSuite(suite.name, expectations=expectations))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name=suite.name, data=batch, suite=declared)
    )
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(name=suite.name, validation_definitions=[definition], result_format="BASIC")
    )
    run = RunIdentifier(run_name="gates", run_time=_NOMINAL_TIME)
    result = checkpoint.run(batch_parameters={"dataframe": _frame(suite.profile)}, run_id=run)
    (validation,) = result.run_results.values()
    return validation.results


def _frame(profile: Profile) -> Any:
    """Lay a profile out as a pandas frame: a row per measure, a column per column, absent cells null."""
    measures = sorted({measure for found in profile.values() for measure in found})
    cells = {
        column: [msgspec.json.encode(found[measure]).decode() if measure in found else None for measure in measures]
        for column, found in profile.items()
    }
    schema = pa.schema([(name, pa.string()) for name in (_MEASURE, *cells)])
    return pa.table({_MEASURE: measures, **cells}, schema=schema).to_pandas()


def _outcome(checks: Sequence[Check], results: Iterable[Any]) -> SuiteOutcome:
    """Match verdicts with declared checks."""
    verdicts = {result.expectation_config.meta.get(_CHECK): result for result in results}
    failed, lost, held = [], [], 0
    for number, check in enumerate(checks):
        result = verdicts.get(number)
        if result is None or (problem := _exception(result)):
            lost.append(f"{check.column}: {check.measure}: {'no verdict' if result is None else problem}")
        elif result.success is True:
            held += 1
        else:
            found = Measured("missing") if isinstance(check, Exists) else _measured(result)
            failed.append(
                Failure(
                    column=check.column,
                    measure=check.measure,
                    observed=found.value,
                    limit=check.limit,
                    examples=found.examples,
                )
            )
    return SuiteOutcome(
        declared=len(checks),
        evaluated=held + len(failed),
        held=held,
        failed=tuple(failed),
        lost=tuple(lost),
    )


def _measured(result: Any) -> Measured:
    found = result.result
    return Measured(found.get("observed_value"), tuple(found.get("details", {}).get("examples", ())))


def _exception(result: Any) -> str:
    """Return the message of the first exception that an expectation raised; empty if none."""
    info = result.exception_info
    entries = [info] if "raised_exception" in info else list(info.values())
    return next((str(entry["exception_message"]) for entry in entries if entry["raised_exception"]), "")
