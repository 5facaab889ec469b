"""Maintenance in short, resumable slices: consolidation of traces and retention."""

from memory_mesh.flows.jobs.archiving import archive_project
from memory_mesh.flows.jobs.runner import JOBS, listed, run
from memory_mesh.flows.jobs.site import Site

__all__ = ["JOBS", "Site", "archive_project", "listed", "run"]
