"""The LanceDB index of large stores."""
