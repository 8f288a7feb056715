"""Publications and trials, which may report a study, and search engines that lead to them."""
