"""What a store knows of the project that a folder belongs to."""

from memory_mesh.fastdataclass import dataclass


@dataclass(frozen=True, slots=True)
class Project:
    """A project by its name, how the name was found, and the other names that it reads."""

    name: str
    how: str  # set (git's configuration), remote, root, path, or folder (set in this store)
    place: str  # the folder that it was found at
    former: tuple[str, ...] = ()  # earlier names; what is stored under them is its own
    merged: tuple[str, ...] = ()  # other projects whose memories it reads
    others: tuple[str, ...] = ()  # the names of its other remotes, such as what it is a fork of

    @property
    def is_named_by_a_neighbour(self) -> bool:
        """True if its remote is on this machine and gave it its own root commit or path."""
        return self.how == "remote" and self.name.startswith(("commit:", "/"))
