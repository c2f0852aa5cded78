from changeproof.runs.resolved import resolve


def plan_pieces(plan, folder=None):
    return list(resolve(plan, folder).pieces)
