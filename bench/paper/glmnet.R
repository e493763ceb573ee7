# An l1 path of logistic regression by glmnet: Rscript glmnet.R FOLDER ROWS COLUMNS RATIO POINTS INTERCEPT
# Reads what foreign.py wrote to FOLDER; writes seconds, shifts, and weights as columns, points and values.
suppressMessages(library(glmnet))
arguments <- commandArgs(TRUE)
folder <- arguments[1]
n <- as.integer(arguments[2])
m <- as.integer(arguments[3])
numbers <- function(name, what, size) {
  path <- file.path(folder, name)
  readBin(path, what, file.size(path) / size)
}
y <- numbers("y", "double", 8)
if (file.exists(file.path(folder, "starts"))) {
  x <- new("dgCMatrix", i = numbers("rows", "integer", 4), p = numbers("starts", "integer", 4),
           x = numbers("values", "double", 8), Dim = c(n, m))
} else {
  x <- matrix(numbers("values", "double", 8), n, m)
}
# The whole path, also where little is left to explain.
glmnet.control(fdev = 0, devmax = 1)
clock <- system.time(
  path <- glmnet(x, y, family = "binomial", standardize = FALSE, intercept = arguments[6] == "1",
                 lambda.min.ratio = as.numeric(arguments[4]), nlambda = as.integer(arguments[5]))
)
weights <- as(path$beta, "TsparseMatrix")
writeBin(as.numeric(c(weights@i, weights@j, weights@x)), file.path(folder, "weights"))
writeBin(as.numeric(path$a0), file.path(folder, "shifts"))
cat(clock[["user.self"]] + clock[["sys.self"]], file = file.path(folder, "seconds"))
