# Ends the bed's processes if the program that started them dies without doing so. Its argument is the bed's folder,
# whose file `pids` lists process groups. Standard input is a pipe that only the program holds: "done" means that all have
# ended, end of file that the program is gone.
trap '' INT TERM HUP
read -r word
[ "$word" = done ] && exit 0
while read -r pid; do
	kill -KILL "-$pid" 2>/dev/null
done <"$1/pids"
rm -rf "$1"
