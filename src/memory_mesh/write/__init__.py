"""From a draft to a receipt: prepared, judged, merged, linked, changed, deleted."""
