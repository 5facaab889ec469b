"""The pages, in the order of the navigation; each module says its routes."""

from memory_mesh.dashboard.asked import PageRoute
from memory_mesh.dashboard.pages import memories

ROUTES: tuple[PageRoute, ...] = (*memories.ROUTES,)
