"""From the objects of other tools to tables of counterfactuals; none of the tools is imported."""
