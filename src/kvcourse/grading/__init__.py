"""The grader: each submission's code runs in one process, the tests in another, the gradebook in a third.

    parent (course_run, recording)     tests, gradebook; never runs or unpickles anything of a student
      |  cells and outcomes
    zygote                             imports once, forks for each submission, never receives a cell
      |- checker process               runs the test cells; asks the student process for values
      `- student process (sandbox)     runs the student's cells; sees arguments, never tests

Between checker and student there is one socket (wire, encode, decode, connection, proxies).
"""
