"""What the papers claim without a figure: theorems, lemmas, sentences; with verdict and test."""

from __future__ import annotations

from typing import NamedTuple

from optsched.papers.verdict import Support

HOLDS, DIRECTION, FAILS = (
    Support.HOLDS,
    Support.DIRECTION,
    Support.FAILS,
)


class Claim(NamedTuple):
    """A claim; one that holds under a condition, or in part, holds in direction."""

    what: str
    verdict: Support
    why: str
    test: str = ""  # file and function below tests/
    errata: tuple[str, ...] = ()


OWN = "errata/test_theorems.py::"
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "oasis": (
        Claim("Theorem 1: Algorithm 2 is optimal for (27)", DIRECTION,
              "among schedules with whole chunks in every slot",
              "errata/test_oasis.py::test_oasis_4_whole_chunks_are_not_optimal", ("OASIS-4",)),
        Claim("Theorem 2: the solutions of (1), (14) and (19) are feasible", DIRECTION,
              "those of (1) and (14) are, in every run; that of the dual (19) if jobs are small "
              "compared with a machine",
              "errata/test_oasis.py::test_oasis_2_the_dual_is_infeasible_where_a_worker_does_not_fit",
              ("OASIS-2",)),
        Claim("Theorem 3: polynomial time", DIRECTION,
              "polynomial in T, N and E, which are numbers of the input: pseudo-polynomial",
              "", ("OASIS-12",)),
        Claim("Theorem 4: OASiS is 2 alpha-competitive", DIRECTION,
              "with the condition of its proof, that demands are small compared with a machine: no "
              "run of 200 contended instances is beyond the proved ratio; without it a "
              "counterexample has ratio 100 and 2 alpha = 12",
              "cross/test_guarantees.py::"
              "test_it_holds_where_demands_are_small_and_where_they_are_not", ("OASIS-1",)),
        Claim("Lemma 1: increments within 1 / alpha make it 2 alpha-competitive", DIRECTION,
              "if the dual solution is feasible, which weak duality needs",
              "errata/test_oasis.py::test_oasis_2_the_dual_is_infeasible_where_a_worker_does_not_fit",
              ("OASIS-2",)),
        Claim("Lemma 2: the allocation-cost relationship bounds the increments", HOLDS,
              "its proof is complete; random prices and jobs agree",
              OWN + "test_oasis_lemma_2_the_relationship_bounds_the_increments"),
        Claim("Lemma 3: the prices (22) satisfy the differential relationship", HOLDS,
              "with equality; for finite steps the relationship of Lemma 2 fails",
              OWN + "test_oasis_lemma_3_prices_satisfy_the_differential_relationship"),
    ),
    "dmlrs": (
        Claim("Fact 1: one machine for all, or the outer rate", FAILS,
              "it is not equivalent to (3.1); optsched has both readings",
              "errata/test_dmlrs.py::test_dmlrs_4_fact_1_holds_in_neither_reading", ("DMLRS-4",)),
        Claim("Lemma 1: the cost of rounding, and the packing constraints", DIRECTION,
              "the gain (A.5) and the cost hold; the printed probability has lost a logarithm "
              "that the proof has",
              "errata/test_dmlrs.py::test_dmlrs_13_the_probability_of_lemma_1", ("DMLRS-13",)),
        Claim("(A.5): the gain G keeps all cover constraints", HOLDS,
              "with the probability that is promised, in simulated roundings",
              OWN + "test_dmlrs_a5_the_gain_keeps_the_cover_constraints", ("DMLRS-24",)),
        Claim("Theorem 2, Algorithm 4: roundings with its G are feasible in the end", FAILS,
              "they may never be; the guarantee that optsched prints rests on the exact placement "
              "that takes their place",
              "errata/test_dmlrs.py::test_dmlrs_2_no_rounding_is_ever_feasible", ("DMLRS-2",)),
        Claim("Theorem 3: the competitive ratio", FAILS,
              "as printed, with a minimum; with the maximum and for small demands it holds for an "
              "exact oracle, and one more line proves it for Algorithm 4",
              "errata/test_dmlrs.py::test_dmlrs_1_the_least_of_one_and_logarithms_is_at_most_one",
              ("DMLRS-1", "DMLRS-3", "DMLRS-15")),
    ),
    "completion": (
        Claim("Theorem 1: Algorithms 4 and 5 are optimal for (13)", FAILS,
              "Algorithm 4 misses the best placement in 6.3 and 16.1 % of the calls of a "
              "[benchmark](../benchmarks.md#the-oracle-of-family-completion), or finds none where "
              "one is",
              "errata/test_completion.py::test_completion_1_algorithm_4_misses_a_placement",
              ("COMPLETION-1",)),
        Claim("Theorem 2: A_maxweight computes a feasible solution of (7), (8), (9)", DIRECTION,
              "of (7): every schedule passes the feasibility check, and ends by the deadline; "
              "those of (8) and (9) were not tested, and their proof is in the supplement",
              OWN + "test_completion_theorems_2_and_7_schedules_are_feasible"),
        Claim("Theorem 3: A_maxweight is within 2 log lambda", DIRECTION,
              "no instance beyond it, but its assumptions fail in the settings of Sec. 7",
              OWN + "test_completion_theorem_3_within_two_log_lambda", ("COMPLETION-3",)),
        Claim("Theorem 4: polynomial time", DIRECTION,
              "T and N are numbers of the input: pseudo-polynomial; the printed bound leaves out "
              "two loops", "", ("COMPLETION-15",)),
        Claim("Lemma 1: a dual approximation makes A_online 4 alpha-competitive", DIRECTION,
              "with one alpha for all rounds; with one per round windows overlap",
              "errata/test_completion.py::test_completion_5_windows_of_an_alpha_per_round_overlap",
              ("COMPLETION-5",)),
        Claim("Lemma 2: alpha rounds of A_dual schedule at least the optimal weight", DIRECTION,
              "with the gamma of A_maxweight; for gamma close to 1 one round more may be needed",
              "errata/test_completion.py::test_completion_16_one_round_more_than_lemma_2",
              ("COMPLETION-16",)),
        Claim("Theorem 5: A_online is 4 alpha-competitive", HOLDS,
              "no instance beyond it: random ones, and a hunt whose worst ratio is 5.19 where the "
              "theorem has 172",
              OWN + "test_completion_theorem_5_a_online_is_4_alpha_competitive",
              ("COMPLETION-4", "COMPLETION-6")),
        Claim("after Theorem 5: alpha is close to 4", FAILS,
              "24 for two equal jobs, 150 to 260 for a hundred",
              "errata/test_completion.py::test_completion_2_alpha_is_not_close_to_4",
              ("COMPLETION-2",)),
        Claim("Theorem 6: Algorithms 6 and 7 are optimal", FAILS,
              "as printed, Algorithm 7 places as many workers as there are slots; with that "
              "corrected, and for the problem of one job, both find what trying all placements "
              "finds (`test_cheapest_among_all_placements`)",
              "errata/test_completion.py::"
              "test_completion_7_algorithm_7_places_as_many_workers_as_there_are_slots",
              ("COMPLETION-7", "COMPLETION-9", "COMPLETION-10")),
        Claim("Theorem 7: feasible with the ring as well", DIRECTION,
              "with Algorithm 7 corrected, as Theorem 2",
              OWN + "test_completion_theorems_2_and_7_schedules_are_feasible",
              ("COMPLETION-7",)),
        Claim("Theorem 8: polynomial time with the ring", DIRECTION,
              "pseudo-polynomial, as Theorem 4", "", ("COMPLETION-15",)),
    ),
    "bipartite": (
        Claim("Proposition 1: the set is convex, the reward concave", HOLDS,
              "for the gain summed over machines, and for any concave gain of the sum",
              OWN + "test_bipartite_proposition_1_the_reward_is_concave",
              ("BIPARTITE-1", "BIPARTITE-7")),
        Claim("Theorem 1: the regret is at most H_G sqrt(T)", DIRECTION,
              "with the constant step of its proof; with the steps of Algorithm 1 and Table II a "
              "counterexample has 7 times as much",
              "families/bipartite/test_bipartite_policies.py::"
              "test_regret_stays_below_the_guarantee_beside_the_theory_step_only",
              ("BIPARTITE-5",)),
        Claim("Algorithm 1 projects", FAILS, "as printed it does not; counterexamples",
              "errata/test_bipartite.py::test_bipartite_2_the_multiplier_may_be_negative",
              ("BIPARTITE-2", "BIPARTITE-3", "BIPARTITE-4")),
    ),
    "bot": (
        Claim("Sec. 3.2, 5: the iteration converges to the optimum with small enough steps", HOLDS,
              "on all platforms tried; the paper proves nothing of its own, and quotes Lin and "
              "Shroff", OWN + "test_bot_small_steps_reach_the_optimum"),
    ),
}  # fmt: skip
