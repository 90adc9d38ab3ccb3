"""Flags: which images, and how they are prepared before any policy."""

from flags import define

NAMES = define.fields(
    dataset="cifar10, cifar100, svhn, mnist, folder, npz, ...",
    data_dir="where the data set is, or is to be",
    image_size="side in pixels of the square images",
    holdout="test on a share (<1) or number of train images",
    limit_train="train on a class-balanced subset",
    test_on_rest="test on all that --limit_train leaves",
    skip_bad_images="leave unreadable images out",
    preprocessing="before the policies: crop, inception or none",
    flip="mirror half of the images",
)
