"""What Willowbark counts on at each source: one question that it surely answers, and the fields read of the reply."""
