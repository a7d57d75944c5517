"""Stage `answer`: the grounded-answer role answers prepared questions over their own passages."""
