"""What happens to a run when something fails? No finished evaluation is lost, and none counts twice.

`python -m experiments.ours.faults` provokes one fault after another, each in a process and on a Ray of its own, and
writes results/faults.csv and faults.md; names after it provoke those alone. `striking` runs an objective until a fault
strikes. Each module with SCENES provokes one group of faults, and `__main__` joins the groups.
"""
