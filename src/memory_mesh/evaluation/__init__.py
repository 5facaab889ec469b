"""How well does a memory remember? Suites of records and questions, and figures anyone can redo."""

from memory_mesh.evaluation.report import EvaluationReport, FailedQuestion
from memory_mesh.evaluation.suite import Suite, load
from memory_mesh.evaluation.whole_run import SEED, run, work_folder

__all__ = ["SEED", "EvaluationReport", "FailedQuestion", "Suite", "load", "run", "work_folder"]
