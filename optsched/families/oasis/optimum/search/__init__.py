"""Primal heuristics: five ways to find a schedule, and when each runs.

1. Greedy insertion and moves at prices (`greedy_schedule`): thousands of jobs, and first where the
   first linear program takes long.
2. Large neighborhood search on single jobs (`neighborhood`): always first, with free prices, and
   again whenever there are better prices; in branch and price at a share of the time.
3. Dives on the configuration LP over sets of jobs (`..configuration_lp`): above the cutting planes,
   for the rest of the time.
4. Fix and optimize (`fix_and_optimize`, which controls `slot_repair`): in branch and price, where
   a relaxation has decided all completion slots.
5. A relaxation that is a schedule (`..tree.branching`): at every node of branch and price.
"""
