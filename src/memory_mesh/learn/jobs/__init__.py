"""Maintenance in short, resumable slices: consolidation of traces and retention."""

from memory_mesh.learn.jobs.lifecycle import NAME as LIFECYCLE
from memory_mesh.learn.jobs.long_term import archive_project
from memory_mesh.learn.jobs.schedule import JOBS, listed, run
from memory_mesh.learn.jobs.worksite import Site

__all__ = ["JOBS", "LIFECYCLE", "Site", "archive_project", "listed", "run"]
