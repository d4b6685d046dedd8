"""Fine-tuning as a job: a folder on the disk, a process of its own, and values that say how far it has come.

`runner` starts, stops and reads jobs; `supervise` is a job's process, which runs its stages one after another;
`worker` is one stage's process. Nothing here imports torch but what a stage runs.
"""
