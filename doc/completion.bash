
# Words are parted by blanks only: bash would part host:sync and --seed=1, too
_philox()
{
	local line=${COMP_LINE:0:COMP_POINT} word last takes words="" colon
	local -a given

	COMPREPLY=()
	read -ra given <<<"$line"
	[[ $line == *[[:space:]] ]] && given+=("")
	word=${given[${#given[@]} - 1]}
	last=${given[${#given[@]} - 2]}
	if [ ${#given[@]} -eq 2 ]; then
		words="$_philox_commands help --help --version"
	elif [ "${given[1]}" = help ]; then
		[ ${#given[@]} -gt 3 ] || words=$_philox_commands
	else
		case $word in
		--*=*)
			last=${word%%=*}
			word=${word#*=}
			;;
		esac
		takes=$(_philox_takes "${given[1]}" "$last")
		case $takes in
		files) words=files ;;
		words*) words=${takes#words} ;;
		*)
			words=$(_philox_options "${given[1]}")
			case $word in
			-*) ;;
			*) ! _philox_files "${given[1]}" || words=files ;;
			esac
			;;
		esac
	fi
	if [ "$words" = files ]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	# What bash has parted by itself is not given again
	case $word in
	*:*)
		colon=${word%"${word##*:}"}
		[[ $COMP_WORDBREAKS != *:* ]] ||
			COMPREPLY=("${COMPREPLY[@]#"$colon"}")
		;;
	esac
}

complete -F _philox philox
