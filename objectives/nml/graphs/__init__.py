"""Which DAG does an ordering give, and when do two DAGs stand for the same distributions?

Imports no other folder of `objectives`.
"""
