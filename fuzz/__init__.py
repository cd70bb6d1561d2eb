"""An independent check of plans: the truth is computed anew, from the plan's JSON and its releases alone."""
