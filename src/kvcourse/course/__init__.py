"""Running the course: exercises from their sources, learners' copies, what students get, the sample class.

`python -m kvcourse.course release | to-text | work | bundle | sample-class`.
"""
