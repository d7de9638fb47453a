"""`grade class collect`: from what an LMS, a folder or git has to the submissions of a class.

    SOURCE ──archives, folders, repositories──▶ Entry        a file's bytes and its path; hostile, so read with limits
           ──forms, gradescope──▶ Claim                      whose it is and when it was submitted, as the LMS names it
           ──people, exercises, times──▶ Upload              a student of the roster, an exercise of the assignment
           ──merge──▶ ClassSubmission                        .cu and host file together; in order; new ones are added

Nothing is unpacked: an archive's member is read into memory if its name says that it may be a submission, and written
below ``submissions/`` under a name of our own. What is not used is in the report with the reason.
"""
